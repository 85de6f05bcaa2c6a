"""A run that was given up, looked at and left so: no problem any more, until it is given up again. Nothing of it changes."""

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from durable import figures, pruning
from durable.clock import InSeconds
from durable.models import Acknowledgement
from project.accounts.models import AccountDeletion

from . import scenes, shapes
from .test_deciding import press
from .test_list import found
from .test_run_page import buttons, shown

pytestmark = pytest.mark.django_db


def overview(staff):
    return staff.get("/admin/durable/").content.decode()


def given_up_again(run):
    """Set what another worker would have left: settled once more, later."""
    type(run).objects.filter(pk=run.pk).update(status="dead", due_at=None, settled_at=InSeconds(-1), last_error="again")
    run.refresh_from_db()


def test_a_run_that_was_looked_at_is_no_problem_any_more(staff):
    run = scenes.dead()
    before = AccountDeletion.objects.values().get(pk=run.pk)
    assert "1 was given up" in overview(staff)

    press(staff, run, "acknowledge", reason="the customer was a test")

    assert "All is well" in overview(staff)
    assert AccountDeletion.objects.values().get(pk=run.pk) == before
    assert LogEntry.objects.get().change_message == "Looked at, and left so. Reason: the customer was a test"
    assert "the customer was a test" in shown(staff, run)
    assert "acknowledge" not in buttons(shown(staff, run))
    assert "retry" in buttons(shown(staff, run))


def test_the_way_from_the_overview_leads_to_those_that_nobody_has_looked_at(staff):
    run, _other = scenes.dead("seen"), scenes.dead("unseen")

    press(staff, run, "acknowledge", reason="known")

    assert "?state=trouble" in overview(staff)
    assert found(staff, "?state=trouble") == {"unseen"}
    assert found(staff, "?state=dead") == {"seen", "unseen"}
    told = figures.of_kind(AccountDeletion)
    assert (told.dead, told.unseen) == (2, 1)
    assert told.as_json()["unseen"] == 1


def test_a_run_that_is_retried_and_given_up_again_is_told_again(staff):
    run = scenes.dead()
    press(staff, run, "acknowledge", reason="known")

    press(staff, run, "retry")
    given_up_again(run)

    assert "1 was given up" in overview(staff)
    assert "acknowledge" in buttons(shown(staff, run))
    press(staff, run, "acknowledge", reason="known too")
    assert "All is well" in overview(staff)
    assert Acknowledgement.objects.count() == 1


def test_a_run_that_moved_on_is_not_acknowledged(staff):
    run = scenes.dead()
    page = staff.get(f"/admin/accounts/accountdeletion/{run.pk}/decide/acknowledge/")
    assert page.status_code == 200
    AccountDeletion.objects.filter(pk=run.pk).update(fence=9)

    answer = staff.post(
        f"/admin/accounts/accountdeletion/{run.pk}/decide/acknowledge/",
        {"status": "dead", "fence": str(run.fence), "reason": "known"},
        follow=True,
    )

    assert "the run moved on while you were looking" in answer.content.decode()
    assert not Acknowledgement.objects.exists()
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("made", ["message", "operation", "plan", "pass"])
def test_every_shape_can_be_left_so(staff, made):
    settled = {"due_at": None, "settled_at": timezone.now(), "last_error": "no"}
    run = {
        "message": lambda: scenes.message("k", said="no", status="failed", due_at=None, settled_at=timezone.now()),
        "operation": lambda: shapes.operation("k", status="failed", **settled),
        "plan": lambda: shapes.plan(status="failed", cause="failure", **settled),
        "pass": lambda: shapes.a_pass(status="failed", **settled),
    }[made]()  # fmt: skip
    assert "given up" in overview(staff)

    press(staff, run, "acknowledge", reason="known")

    assert figures.of_kind(type(run)).unseen == 0


def test_an_operation_that_nobody_knows_the_end_of_is_decided_and_not_left(staff):
    assert "acknowledge" not in buttons(shown(staff, shapes.unknown()))


def test_what_is_pruned_is_forgotten(staff):
    run, other = scenes.dead("seen"), scenes.dead("kept")
    for one in (run, other):
        press(staff, one, "acknowledge", reason="known")
    AccountDeletion.objects.filter(pk=other.pk).update(settled_at=InSeconds(0))

    assert pruning.prune(AccountDeletion, 300) == 1

    assert [one.run for one in Acknowledgement.objects.all()] == [other.pk]
