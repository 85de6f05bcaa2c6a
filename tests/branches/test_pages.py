"""The pages for staff: a confirmed reset, its stages with times, all there were; and nothing where it is switched off."""

import re
import uuid
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from durable import polling
from durable.models import Operation
from project import branches
from project.farside.neon import BRANCH
from tests.factories import UserFactory

from .conftest import look

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def staff(client, front):
    client.force_login(get_user_model().objects.create_superuser("eve", "eve@example.org", "x"))
    return client


def confirm(client, key=None, name=BRANCH):
    return client.post(reverse("branches:branch"), {"key": key or str(uuid.uuid4()), "name": name})


def text_of(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


@pytest.mark.parametrize("value", ["", "false", "TRUE", "1"])
def test_there_is_no_page_unless_the_setting_is_exactly_true(staff, settings, value):
    settings.BRANCH_RESET = value

    assert staff.get(reverse("branches:branch")).status_code == 404
    assert confirm(staff).status_code == 404
    assert not Operation.objects.exists()


def test_who_may_not_change_operations_sees_nothing(client, front):
    client.force_login(UserFactory())

    assert client.get(reverse("branches:branch")).status_code == 403
    assert confirm(client).status_code == 403
    assert not Operation.objects.exists()


def test_a_confirmed_reset_is_recorded_and_shown(staff, neon):
    answer = confirm(staff)

    operation = Operation.objects.get()
    assert answer.url == reverse("branches:reset", args=[operation.pk])
    assert (operation.status, operation.started_by, operation.one_at_a_time) == ("queued", "eve", BRANCH)
    assert neon.accepted == []  # a page begins nothing


def test_a_wrong_id_resets_nothing(staff):
    answer = confirm(staff, name="br-main-1")

    assert answer.status_code == 422
    assert "That is not the branch's id" in text_of(answer).replace("&#x27;", "'")
    assert not Operation.objects.exists()


def test_a_double_click_is_one_reset_and_a_second_person_is_led_to_it(staff):
    key = str(uuid.uuid4())

    first, second, other = confirm(staff, key), confirm(staff, key), confirm(staff)

    assert first.url == second.url == other.url
    assert Operation.objects.count() == 1


def test_the_stages_are_shown_with_their_times_and_no_id_of_neons(staff, neon):
    address = confirm(staff).url
    operation = Operation.objects.get()
    look(operation, 2)

    page = staff.get(address)

    text = text_of(page)
    assert "Neon has scheduled it" in text
    assert len(re.findall(r"<time ", page.content.decode())) >= 3
    assert now(operation).handle
    assert now(operation).handle not in page.content.decode()
    look(operation, 3)
    done = staff.get(address)
    assert "The branch is reset" in text_of(done)
    assert "data-settled" in done.content.decode()


def test_a_look_at_the_page_asks_neon_nothing(staff, neon, front):
    address = confirm(staff).url
    look(Operation.objects.get())
    calls = len(front.calls())

    for _ in range(3):
        staff.get(address)

    assert len(front.calls()) == calls


def test_an_unknown_one_says_that_a_person_must_decide_and_blocks_the_next(staff, neon):
    address = confirm(staff).url
    Operation.objects.update(status="unknown", due_at=None, settled_at="2026-11-29T12:00:00Z")

    assert "Nobody knows how the reset stands" in text_of(staff.get(address))
    assert "/admin/durable/operation/" in staff.get(address).content.decode()
    assert "See what must be decided first" in text_of(staff.get(reverse("branches:branch")))
    assert confirm(staff).url == address


def test_calling_it_off_before_it_began_is_for_good(staff, neon):
    address = confirm(staff).url
    operation = Operation.objects.get()

    asked = staff.get(reverse("branches:cancel", args=[operation.pk]))
    assert "Neon has not been asked yet" in text_of(asked)
    assert Operation.objects.get().status == "queued"
    staff.post(reverse("branches:cancel", args=[operation.pk]))
    look(operation, 2)

    assert "The reset was called off" in text_of(staff.get(address))
    assert neon.accepted == []


def test_calling_it_off_once_it_began_says_that_neon_may_finish_it(staff, neon):
    address = confirm(staff).url
    operation = Operation.objects.get()
    look(operation)

    asked = staff.get(reverse("branches:cancel", args=[operation.pk]))
    assert "it may finish all the same" in text_of(asked)
    staff.post(reverse("branches:cancel", args=[operation.pk]))

    assert "What Neon had begun, Neon may finish" in text_of(staff.get(address))
    assert [one["by"] for one in now(operation).decisions] == ["eve"]


def test_the_history_lists_every_reset_with_its_error_and_pages(staff, front):
    for n in range(25):
        polling.start("branch.reset", {"branch": f"b{n}"}, one_at_a_time=f"b{n}")
    Operation.objects.filter(one_at_a_time="b24").update(last_error="Neon answered 500")

    first, second = staff.get(reverse("branches:history")), staff.get(reverse("branches:history") + "?page=2")

    assert "Neon answered 500" in text_of(first)
    assert "Page 1 of 2" in text_of(first)
    assert "b0" in text_of(second)


def test_the_pages_keep_the_policy_and_work_without_a_script(staff):
    address = confirm(staff).url

    for page in (staff.get(address), staff.get(reverse("branches:branch") + "?confirm")):
        assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", page.content.decode())
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in staff.get(address).content.decode()


def test_without_a_script_the_question_stands_in_the_page(staff):
    assert "<dialog" in staff.get(reverse("branches:branch") + "?confirm").content.decode()
    assert re.search(r"<dialog[^>]* open", staff.get(reverse("branches:branch") + "?confirm").content.decode())


def now(operation):
    return Operation.objects.get(pk=operation.pk)


def test_a_german_reader_is_answered_in_german(staff):
    text = text_of(staff.get(confirm(staff).url, headers={"accept-language": "de"}))

    assert "Das Zurücksetzen ist vorgemerkt" in text
    assert "Von Neon angenommen" in text


def test_every_text_has_a_german_translation():
    catalogue = (Path(branches.__file__).parent / "locale/de/LC_MESSAGES/django.po").read_text()

    assert re.findall(r'msgid "(.+)"\nmsgstr ""\n', catalogue) == []
    assert "fuzzy" not in catalogue
