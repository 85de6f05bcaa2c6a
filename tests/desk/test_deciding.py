"""Decisions: each changes the run as it was seen, is kept with who and why, and says so when it came too late."""

import contextlib

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from durable.models import Message
from durable.staff import Decision
from project.accounts.models import AccountDeletion
from tests.app.models import Closing, Told

from . import scenes
from .test_run_page import address, shown

pytestmark = pytest.mark.django_db


def press(client, run, name, *, reason="", seen=None, **more):
    status, fence = seen or (run.status, run.fence)
    data = {"status": status, "fence": fence, "reason": reason, **more}
    answer = client.post(address(run, "decide", name), data, follow=True)
    run.refresh_from_db()
    return answer


def asked(client, run, name, query=""):
    answer = client.get(address(run, "decide", name) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def history():
    return list(LogEntry.objects.order_by("pk").values_list("user__username", "change_message"))


def test_run_now_makes_a_waiting_run_due_and_keeps_its_attempts(staff):
    run = scenes.waiting()

    page = press(staff, run, "run-now", reason="S3 is back")

    assert (run.status, run.attempts, run.fence) == ("pending", 3, 4)
    assert type(run).objects.due().filter(pk=run.pk).exists()
    assert history() == [("ada", "Made due at once. Reason: S3 is back")]
    assert "Made due at once. Reason: S3 is back" in page.content.decode()


def test_retry_gives_a_dead_run_a_fresh_budget(staff):
    run = scenes.dead()

    press(staff, run, "retry")

    assert (run.status, run.attempts, run.settled_at) == ("pending", 0, None)
    assert history() == [("ada", "Retried.")]


def test_cancel_settles_an_open_run_and_moves_the_fence_of_a_held_one(staff):
    run = scenes.running()

    press(staff, run, "cancel", reason="the user changed her mind")

    assert (run.status, run.fence, run.due_at) == ("canceled", 2, None)
    assert history() == [("ada", "Canceled. Reason: the user changed her mind")]


def test_release_lets_the_lease_lapse_and_nothing_else(staff):
    run = scenes.held_elsewhere()

    press(staff, run, "release", reason="web-2 was switched off")

    assert (run.status, run.fence) == ("running", 1)
    assert type(run).objects.due().filter(pk=run.pk).exists()
    assert "Lapsed" in shown(staff, run)


def test_skip_records_who_and_why_and_the_run_goes_on(staff):
    run = scenes.waiting()

    press(staff, run, "skip", reason="the bucket is gone", step="delete_files")

    assert run.delete_files_at is not None
    assert run.step_log["delete_files"] == {"skipped": "the bucket is gone", "by": "ada", "fence": 5}
    assert type(run).objects.due().filter(pk=run.pk).exists()
    html = shown(staff, run)
    assert "Skipped by ada: the bucket is gone" in html
    assert "2 of 5 steps done, 1 skipped" in html
    assert history() == [("ada", "Skipped delete_files. Reason: the bucket is gone")]


def test_a_message_that_was_given_up_is_retried(staff):
    message = scenes.message("k", status="dead", said="no", attempts=2, due_at=None, settled_at=scenes.InSeconds(-5))

    page = asked(staff, message, "retry")
    press(staff, message, "retry")

    assert "under the same key, k." in page
    assert "the outside world may see it twice" in page
    assert (message.status, message.attempts) == ("pending", 0)


@pytest.mark.parametrize(
    ("scene", "name", "more"),
    [
        (scenes.waiting, "run-now", {}),
        (scenes.waiting, "cancel", {}),
        (scenes.waiting, "skip", {"step": "delete_files"}),
        (scenes.dead, "retry", {}),
        (scenes.held_elsewhere, "release", {}),
    ],
)
def test_a_decision_on_a_run_that_moved_on_changes_nothing_and_says_so(staff, scene, name, more):
    run = scene()
    seen = (run.status, run.fence)
    AccountDeletion.objects.filter(pk=run.pk).update(fence=run.fence + 1)
    before = AccountDeletion.objects.filter(pk=run.pk).values().get()

    page = press(staff, run, name, reason="because", seen=seen, **more)

    assert AccountDeletion.objects.filter(pk=run.pk).values().get() == before
    assert "Nothing was changed: the run moved on while you were looking." in page.content.decode()
    assert history() == []


@pytest.mark.parametrize("name", ["run-now", "cancel", "skip", "retry", "release"])
def test_the_update_itself_is_bound_to_what_was_seen(staff, name, monkeypatch):
    """The look before the decision is a courtesy: without it the run is as safe."""
    run = {"run-now": scenes.waiting, "cancel": scenes.waiting, "skip": scenes.waiting, "retry": scenes.dead}.get(
        name, scenes.held_elsewhere
    )()
    read = AccountDeletion.objects.filter(pk=run.pk)
    lawful = Decision.is_lawful

    def moves_on(decision, one, now):
        answer = lawful(decision, one, now)
        read.update(fence=one.fence + 1)
        return answer

    monkeypatch.setattr(Decision, "is_lawful", moves_on)
    page = press(staff, run, name, reason="because", step="delete_objects")
    monkeypatch.undo()

    row = read.get()
    assert (row.status, row.fence) == (run.status, run.fence)
    assert row.delete_objects_at is None
    assert "the run moved on while you were looking" in page.content.decode()
    assert history() == []


@pytest.mark.parametrize(("scene", "name"), [(scenes.waiting, "skip"), (scenes.held_elsewhere, "release")])
def test_where_it_matters_a_reason_is_asked_for(staff, scene, name):
    run = scene()

    answer = press(staff, run, name, reason="  ", step="delete_files")

    assert answer.status_code == 422
    assert "Please say why" in answer.content.decode()
    assert history() == []


def test_a_page_of_a_decision_that_is_not_lawful_now_leads_back_with_the_reason(staff):
    answer = staff.get(address(scenes.done(), "decide", "cancel"), follow=True)

    assert "Nothing was changed" in answer.content.decode()
    assert "it never runs again" in answer.content.decode()


@pytest.mark.parametrize("name", ["delete", "skip", "retry-all"])
def test_there_is_no_page_for_what_cannot_be_decided(staff, name):
    assert staff.get(address(scenes.waiting(), "decide", name)).status_code == 404


def test_a_form_that_was_made_up_is_refused(staff):
    run = scenes.waiting()

    assert staff.post(address(run, "decide", "cancel"), {"status": "pending", "fence": "x"}).status_code == 404
    assert staff.post(address(run, "decide", "cancel"), {}).status_code == 404


def test_the_confirmation_says_what_is_repeated_and_what_is_not(staff):
    page = asked(staff, scenes.waiting(), "run-now")

    assert "delete_files was begun 3 times and is begun again; repeating it changes nothing on the other side." in page
    assert "These have a receipt and are not repeated: cancel_subscription, delete_customer." in page
    assert "Nothing runs in this request" in page


def test_the_confirmation_of_a_release_says_what_may_happen_twice(staff):
    page = asked(staff, scenes.held_elsewhere(), "release")

    assert "This page cannot see whether web-2/17 still runs." in page
    assert "delete_customer was begun 1 times and is begun again" in page


def test_the_confirmation_of_a_cancellation_says_what_stays(staff):
    page = asked(staff, scenes.running(), "cancel")

    assert "delete_objects may be in hand" in page
    assert "What is done stays done, and is not undone: cancel_subscription, delete_customer, delete_files." in page


def test_a_retry_whose_place_was_taken_is_told(staff):
    from django.contrib import admin

    from durable.admin import RunAdmin
    from tests.app.models import Account

    first = Closing.objects.start(account=Account.objects.create(name="a"))
    dead = {"status": "dead", "flight": None, "due_at": None, "settled_at": scenes.InSeconds(-5), "last_error": "no"}
    Closing.objects.filter(pk=first.pk).update(**dead)
    Closing.objects.start(account=first.account)
    run_admin = RunAdmin(Closing, admin.site)
    first.refresh_from_db()

    answer = _post_by_hand(run_admin, first, "retry")

    assert "is already in flight" in answer


def _post_by_hand(run_admin, run, name):
    """Post to an admin that has no address in this site; return what it said."""
    from django.contrib.auth import get_user_model
    from django.contrib.messages import get_messages
    from django.contrib.messages.storage.cookie import CookieStorage
    from django.test import RequestFactory
    from django.urls import NoReverseMatch

    request = RequestFactory().post("/", {"status": run.status, "fence": run.fence})
    request.user = get_user_model().objects.get(username="ada")
    request._messages = CookieStorage(request)
    with contextlib.suppress(NoReverseMatch):
        run_admin.decide_view(request, str(run.pk), name)
    return " ".join(str(one) for one in get_messages(request))


# Many at once ----------------------------------------------------------------------------------------------------


def act(staff, action, *runs, **more):
    model = type(runs[0])
    data = {"action": action, "_selected_action": [str(run.pk) for run in runs], **more}
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
    answer = staff.post(reverse(name), data, follow=True)
    return answer.content.decode()


def test_a_hundred_runs_of_every_state_are_retried_where_it_is_lawful_and_each_other_has_a_reason(staff):
    runs = scenes.scenes()
    runs |= {f"dead{n}": scenes.dead(f"delete:d{n}") for n in range(92)}

    page = act(staff, "retry_selected", *runs.values(), select_across="0")

    assert "95 runs retried." in page  # 93 dead, one canceled, one that waited
    assert "5 left as they were." in page
    assert "somebody holds it: " in page
    assert "done, and never runs again: delete:46 (done)" in page
    assert "due already: delete:48 (pending)" in page
    assert LogEntry.objects.count() == 95


def test_canceling_many_asks_first_and_keeps_the_reason(staff):
    runs = scenes.scenes()

    page = act(staff, "cancel_selected", *runs.values())
    assert "Cancel selected runs: are you sure?" in page
    assert AccountDeletion.objects.filter(status="canceled").count() == 1

    page = act(staff, "cancel_selected", *runs.values(), confirmed="1", reason="a test tenant")

    assert "5 runs canceled." in page
    assert "3 left as they were." in page
    assert AccountDeletion.objects.filter(status="canceled").count() == 6
    assert history()[0] == ("ada", "Canceled. Reason: a test tenant")


def test_who_may_only_look_has_no_actions(somebody):
    run, looker = scenes.dead(), somebody("accounts.view_accountdeletion")

    act(looker, "retry_selected", run)

    run.refresh_from_db()
    assert run.status == "dead"


def test_messages_offer_no_cancellation(staff):
    scenes.message("k")

    page = staff.get(reverse("admin:durable_message_changelist")).content.decode()

    assert "retry_selected" in page
    assert "cancel_selected" not in page
    assert Message.objects.exists()
    assert Told.staff_decisions()
