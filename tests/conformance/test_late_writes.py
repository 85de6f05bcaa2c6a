"""A late owner writes nothing, by whatever path: S2, one path at a time."""

from __future__ import annotations

import contextlib

import pytest

from durable import Refused, Wait
from durable.attempt import Outcome, attempt
from durable.contract import release_early
from durable.errors import LostLease

from .far_side import FAR_SIDE
from .models import Chore
from .sights import look
from .subjects import Jobs
from .verbs import lapse, take

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

JOBS = Jobs()


@pytest.fixture
def late():
    """An owner that lost its run to a second one, which holds it now."""
    run = JOBS.make()
    claimed, right = take(JOBS, run.pk, "late")
    lapse(JOBS, run.pk)
    take(JOBS, run.pk, "owner")
    return claimed, right


def _attempt_that_ends_in(error):
    def write(run, right):
        # Lost between the receipt and the outcome: the step itself is not what stops it.
        run.advance = lambda claim: (_ for _ in ()).throw(error)
        attempt(run, right)

    return write


PATHS = {
    "stamp": lambda run, right: attempt(run, right),
    "write": lambda run, right: right.write({"last_error": "late"}),
    "renew": lambda run, right: right.renew(),
    "release": lambda run, right: right.release(),
    "settle": lambda run, right: right.settle("dead"),
    "fail": _attempt_that_ends_in(RuntimeError("down")),
    "refuse": _attempt_that_ends_in(Refused("no")),
    "wait": _attempt_that_ends_in(Wait(5)),
    "lose": lambda run, right: run.lost(right),
}


@pytest.mark.parametrize("path", PATHS)
def test_no_write_of_a_late_owner_is_made(late, path):
    run, right = late
    right.lost_owner = None
    before = look(JOBS, run.pk)

    with contextlib.suppress(LostLease):
        PATHS[path](run, right)

    after = look(JOBS, run.pk)
    assert after.row == before.row
    assert after.traces == before.traces


def test_a_late_heartbeat_knows_that_it_is_late(late):
    _, right = late

    assert right.renew() is False


@pytest.mark.parametrize("ending", ["release", "settle", "cancel"])
def test_a_claim_that_was_given_back_writes_nothing(ending):
    run = JOBS.make()
    _, right = take(JOBS, run.pk, "worker")
    if ending == "release":
        right.release()
    elif ending == "settle":
        right.settle("dead")
    else:
        run.cancel()
    before = look(JOBS, run.pk)

    assert right.renew() is False
    for write in (lambda: right.write({"last_error": "late"}), right.release, lambda: right.settle("done")):
        with pytest.raises(LostLease):
            write()

    assert look(JOBS, run.pk).row == before.row


def test_a_boot_pass_frees_only_the_claim_it_saw(late):
    run, right = late
    row = Chore.objects.filter(pk=run.pk)
    row.update(owner=right.owner)

    assert not release_early(row, fence=right.fence, owner=right.owner)

    assert look(JOBS, run.pk).lease == "held"


def test_a_receipt_of_another_owner_is_not_taken_for_ones_own(late):
    run, right = late
    lapse(JOBS, run.pk)
    newer, its_right = take(JOBS, run.pk, "third")
    attempt(newer, its_right)

    assert its_right.wrote("draw_at")
    assert not right.wrote("draw_at")


def test_a_late_owner_does_not_even_begin_a_database_step(late):
    run, right = late
    FAR_SIDE.begun.clear()

    attempt(run, right)

    assert FAR_SIDE.begun == []


@pytest.mark.parametrize("step", JOBS.every)
def test_no_receipt_of_a_late_owner_is_written(step):
    with JOBS.deployed((step,)):
        run = JOBS.make()
        claimed, right = take(JOBS, run.pk, "late")
        lapse(JOBS, run.pk)
        take(JOBS, run.pk, "owner")
        before = look(JOBS, run.pk)

        assert attempt(claimed, right) is Outcome.LOST

    after = look(JOBS, run.pk)
    assert after.row == before.row
    assert after.traces == before.traces


def test_a_cancellation_takes_the_next_fence(late):
    run, _ = late
    before = look(JOBS, run.pk)

    Chore.objects.get(pk=run.pk).cancel()

    assert look(JOBS, run.pk).fence == before.fence + 1


def test_an_owner_told_that_it_is_late_makes_no_call(late):
    run, right = late
    right.lost = not right.renew()  # what the heartbeat does

    with JOBS.deployed(("call",)):
        assert attempt(run, right) is Outcome.LOST

    assert FAR_SIDE.calls(run.pk) == ()
