"""The desk on every other shape: what it shows, what may be pressed, and that a late press changes nothing."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model

from durable.clock import InSeconds
from durable.models import Operation, Plan

from . import shapes
from .test_deciding import asked, press
from .test_overview import problems
from .test_overview import shown as overview
from .test_run_page import address, buttons, shown

pytestmark = pytest.mark.django_db


def test_an_operation_that_runs_over_there_says_what_was_shown_and_when_it_is_looked_at(staff):
    run = shapes.remote()

    html = shown(staff, run)

    assert "Running over there" in html
    assert "The far side shows &#x27;running&#x27;" in html
    assert "status scheduling" in html
    assert "external · at most once" in html
    assert buttons(html) == {"cancel"}
    assert "neon-123" not in html


def test_an_unknown_operation_asks_for_a_decision(staff):
    run = shapes.unknown()

    html = shown(staff, run)

    assert buttons(html) == {"look-again", "it-happened", "it-did-not-happen", "cancel"}
    assert "A person must decide" in html
    assert "Operations: 1 was given up, 2 min ago; it needs a decision." in problems(overview(staff))


@pytest.mark.parametrize(
    ("name", "more", "status", "handle"),
    [
        ("look-again", {}, "running", ""),
        ("it-happened", {"handle": "op-99", "reason": "seen at Neon"}, "running", "op-99"),
        ("it-did-not-happen", {"reason": "not at Neon"}, "queued", ""),
        ("cancel", {}, "canceled", ""),
    ],
)
def test_what_became_of_an_unknown_operation_is_decided(staff, name, more, status, handle):
    run = shapes.unknown()

    press(staff, run, name, **more)

    assert (run.status, run.handle) == (status, handle)
    assert run.decisions[-1]["by"] == "ada"
    assert LogEntry.objects.count() == 1
    assert "Decisions (" in shown(staff, run)


def test_it_happened_needs_the_handle(staff):
    run = shapes.unknown()

    answer = press(staff, run, "it-happened", reason="seen", handle=" ")

    assert answer.status_code == 422
    assert run.status == "unknown"


@pytest.mark.parametrize("name", ["look-again", "it-happened", "it-did-not-happen", "cancel"])
def test_a_late_decision_on_an_operation_changes_nothing(staff, name):
    run = shapes.unknown()
    seen = (run.status, run.fence)
    Operation.objects.filter(pk=run.pk).update(fence=9)
    before = Operation.objects.filter(pk=run.pk).values().get()

    page = press(staff, run, name, seen=seen, reason="x", handle="op-1")

    assert Operation.objects.filter(pk=run.pk).values().get() == before
    assert "the run moved on while you were looking" in page.content.decode()


def test_the_confirmation_of_it_did_not_happen_warns(staff):
    page = asked(staff, shapes.unknown(), "it-did-not-happen")

    assert "It is begun again, under the same key, reset:staging." in page
    assert "the outside world may see it twice" in page


def test_a_pass_is_made_again_at_a_press(staff):
    run = shapes.a_pass()

    html = shown(staff, run)
    press(staff, run, "retry")

    assert "&quot;synced&quot;: 1000" in html
    assert run.status == "waiting"


@pytest.fixture
def proposer():
    return get_user_model().objects.create_superuser("bob", "bob@example.org", "x")


def test_a_plan_is_shown_as_its_approver_reads_it_and_approved(staff, proposer):
    plan = shapes.plan(proposer)

    html = shown(staff, plan)
    page = asked(staff, plan, "approve")
    press(staff, plan, "approve", shows=plan.digest)

    assert "Rename contact" in html
    assert "Proposed by bob" in html
    assert buttons(html) == {"approve", "reject"}
    assert "exactly as they stand here, once" in page
    assert plan.status == "approved"
    assert LogEntry.objects.get().get_change_message() == "Approved."
    assert "approved" in shown(staff, plan)


def test_a_rejection_keeps_its_reason(staff, proposer):
    plan = shapes.plan(proposer)

    press(staff, plan, "reject", shows=plan.digest, reason="not today")

    assert plan.status == "rejected"
    assert "rejected: not today" in shown(staff, plan)


def test_a_plan_that_is_not_what_was_shown_is_not_approved(staff, proposer):
    plan = shapes.plan(proposer)

    press(staff, plan, "approve", shows="another digest")

    assert plan.status == "pending"


def test_the_second_who_decides_is_told_who_was_first(staff, proposer):
    plan = shapes.plan(proposer)
    Plan.objects.get(pk=plan.pk).reject(by=proposer, reason="no")

    page = press(staff, plan, "approve", seen=("pending", 0), shows=plan.digest)

    assert "Nothing was changed" in page.content.decode()
    assert plan.status == "rejected"


def test_only_who_may_approve_sees_the_buttons(somebody, proposer):
    plan = shapes.plan(proposer)
    looker = somebody("durable.view_plan", "durable.change_plan")

    assert buttons(shown(looker, plan)) == set()
    assert looker.get(address(plan, "decide", "approve")).status_code == 403


def test_an_interrupted_plan_is_resumed_and_an_executed_one_taken_back(staff, proposer):
    cut = shapes.plan(proposer, status="failed", cause="interrupted", due_at=None, settled_at=InSeconds(-5),
                      last_error="interrupted")  # fmt: skip
    assert "resume" in buttons(shown(staff, cut))
    press(staff, cut, "resume", shows=cut.digest, reason="looked at it")
    assert cut.status == "approved"

    done = shapes.plan(proposer, status="executed", due_at=None, settled_at=InSeconds(-5))
    page = press(staff, done, "compensate", shows=done.digest)
    assert Plan.objects.filter(compensates=done).count() == 1
    assert "it waits for a decision of its own" in page.content.decode()


def test_a_plan_that_waits_is_told_on_the_overview(staff, proposer):
    shapes.plan(proposer)

    assert "Plans: 1 waits for a decision." in problems(overview(staff))


def test_each_pass_is_told_by_itself_on_the_overview(staff):
    shapes.a_pass()

    html = overview(staff)

    assert "pass billing</a> · Done; it is made again at the next boot, or when it is asked for." in html


@pytest.mark.parametrize("path", ["operation", "pass", "plan"])
def test_each_list_answers(staff, proposer, path):
    shapes.remote()
    shapes.unknown()
    shapes.a_pass()
    shapes.plan(proposer)

    assert staff.get(f"/admin/durable/{path}/").status_code == 200
