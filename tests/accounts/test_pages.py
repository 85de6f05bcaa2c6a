"""The pages: asking for the deletion, being blocked, and watching it without an account."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse
from django.utils import timezone

from project import accounts
from project.accounts.models import AccountDeletion
from project.accounts.progress import address_of
from tests.factories import PASSWORD, AccountDeletionFactory, LegalHoldFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def signed_in(client, subscriber):
    client.force_login(subscriber)
    return client


def _confirm(client, password=PASSWORD):
    return client.post(reverse("delete-account"), {"password": password})


def test_the_page_says_what_will_be_deleted(signed_in, subscriber):
    page = signed_in.get(reverse("delete-account")).content.decode()

    assert subscriber.subscription.subscription in page
    assert "3 files of yours" in page
    assert subscriber.username in page


def test_a_confirmed_request_records_the_deletion_and_shows_its_progress(signed_in, subscriber):
    answer = _confirm(signed_in)

    deletion = AccountDeletion.objects.get(user_id=subscriber.pk)
    assert answer.status_code == 302
    assert answer.url == address_of(deletion)
    assert deletion.key == f"delete:{subscriber.pk}"
    assert deletion.status == "pending"
    subscriber.refresh_from_db()
    assert subscriber.deletion_pending_at is not None


def test_a_wrong_password_deletes_nothing(signed_in):
    answer = _confirm(signed_in, "wrong")

    assert answer.status_code == 422
    assert "not your password" in answer.content.decode()
    assert not AccountDeletion.objects.exists()


def test_an_account_under_a_legal_hold_is_not_begun_with(signed_in, subscriber):
    LegalHoldFactory(user=subscriber)

    answer = _confirm(signed_in)

    assert answer.status_code == 422
    assert not AccountDeletion.objects.exists()


def test_confirming_twice_starts_one_deletion(signed_in, subscriber):
    first = _confirm(signed_in)
    second = _confirm(signed_in)

    assert second.url != ""
    assert AccountDeletion.objects.count() == 1
    assert signed_in.get(first.url).status_code == signed_in.get(second.url).status_code == 200


def test_a_blocked_person_sees_the_progress_and_nothing_else(signed_in, subscriber):
    progress = _confirm(signed_in).url
    signed_in.force_login(subscriber)

    for name in ("home", "delete-account", "admin:index"):
        answer = signed_in.get(reverse(name))
        assert answer.status_code == 302
        assert "/account/deletion/" in answer.url
    assert signed_in.get(progress).status_code == 200


def test_a_blocked_persons_open_document_is_refused_in_json_and_not_led_to_a_page(signed_in, subscriber):
    _confirm(signed_in)
    signed_in.force_login(subscriber)

    for answer in (
        signed_in.get(reverse("documents:document", args=["sheet", "budget"])),
        signed_in.put(reverse("documents:document", args=["sheet", "budget"]), "{}", content_type="application/json"),
        signed_in.get(reverse("home"), headers={"accept": "application/json"}),
    ):
        assert answer.status_code == 403
        assert answer.json()["code"] == "forbidden"


def test_a_blocked_person_who_signs_in_again_is_led_to_the_progress(client, subscriber):
    AccountDeletionFactory(user=subscriber)

    answer = client.post(reverse("login"), {"username": subscriber.username, "password": PASSWORD}, follow=True)

    assert answer.status_code == 200
    assert "/account/deletion/" in answer.request["PATH_INFO"]


def test_an_account_that_is_closed_without_a_record_stays_closed(client):
    client.force_login(UserFactory(deletion_pending_at=timezone.now()))

    assert client.get(reverse("home")).status_code == 403


def test_the_progress_is_readable_without_an_account_after_the_account_is_gone(signed_in, subscriber, client):
    address = _confirm(signed_in).url

    AccountDeletion.objects.get().run()

    assert not get_user_model().objects.filter(pk=subscriber.pk).exists()
    page = client.get(address)
    assert page.status_code == 200
    text = page.content.decode()
    assert "Your account is gone" in text
    assert "5 of 5" in text
    assert text.count("<time ") == 5
    assert "progress.js" not in text


def test_an_address_we_did_not_make_shows_nothing(client):
    assert client.get(reverse("progress", args=["made-up:token"])).status_code == 404


def test_the_page_refreshes_itself_with_and_without_a_script_and_keeps_the_policy(signed_in):
    page = signed_in.get(_confirm(signed_in).url)

    text = page.content.decode()
    assert '<script type="module" src="/static/accounts/progress.js"></script>' in text
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in text
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", text)
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "no-store" in page.headers["Cache-Control"]


def test_a_step_that_failed_is_told_without_the_error_text(signed_in, stripe_front):
    address = _confirm(signed_in).url
    stripe_front.refuse_next_as_stripe(
        "DELETE", "/v1/subscriptions/", status=400, type="invalid_request_error", message="secret detail"
    )
    deletion = AccountDeletion.objects.get()
    deletion.run()

    text = signed_in.get(address).content.decode()

    assert "secret detail" in deletion.last_error
    assert "secret detail" not in text
    assert "will be tried again" in text


def test_when_nobody_works_the_page_says_so_and_that_nothing_is_lost(client, bucket_name):
    deletion = AccountDeletionFactory(user=UserFactory())
    AccountDeletion.objects.update(due_at=timezone.now() - timedelta(minutes=1))

    text = client.get(address_of(deletion)).content.decode()

    assert "Nobody is working on this just now. Your request is safe" in text
    assert "reconcile --watch" not in text  # that is for developers


def test_when_nobody_works_a_developer_is_told_what_to_start(client, bucket_name, settings):
    settings.DEBUG = True
    deletion = AccountDeletionFactory(user=UserFactory())
    AccountDeletion.objects.update(due_at=timezone.now() - timedelta(minutes=1))

    assert "reconcile --watch" in client.get(address_of(deletion)).content.decode()


def test_a_canceled_deletion_says_that_the_account_is_open_again(client, bucket_name):
    deletion = AccountDeletionFactory()
    deletion.cancel()

    assert "your account is open again" in client.get(address_of(deletion)).content.decode()


def test_a_german_reader_is_answered_in_german(client, bucket_name):
    deletion = AccountDeletionFactory()

    text = client.get(address_of(deletion), headers={"accept-language": "de"}).content.decode()

    assert '<html lang="de">' in text
    assert "Ihr Konto wird gelöscht" in text
    assert "0 von 5" in text


def test_every_text_has_a_german_translation():
    catalogue = (Path(accounts.__file__).parent / "locale/de/LC_MESSAGES/django.po").read_text()

    assert re.findall(r'msgid "(.+)"\nmsgstr ""\n', catalogue) == []
    assert "fuzzy" not in catalogue


def test_a_run_whose_worker_died_is_not_shown_as_being_worked_on(client, bucket_name):
    deletion = AccountDeletionFactory()
    AccountDeletion.objects.update(status="running", lease_expires_at=timezone.now() - timedelta(minutes=1))

    text = client.get(address_of(deletion)).content.decode()

    assert "Nobody is working on this just now" in text
    assert "working on it" not in text
