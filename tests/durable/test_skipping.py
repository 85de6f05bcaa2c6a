"""Skipping: a step left out by decision is never begun, is told for ever, and no race loses a receipt over it."""

import threading

import pytest
from django.db import connection, connections

from durable.contract import Taking, claim
from durable.errors import AlreadyInFlight, LostLease
from durable.owner import current
from durable.run import Seen
from durable.testing import expire_leases
from durable.testing.crash import in_child
from tests.app.models import Account, Closing, Told

from .marks import commits

pytestmark = commits


def failing(step="two"):
    job = Told.objects.start(orders={step: "fail no"})
    job.run()
    return job


def test_a_skipped_step_is_never_begun_and_the_others_are(effects):
    job = failing()

    assert job.skip("two", reason="cannot work any more", by="ada")
    assert job.run()

    assert effects(job) == ["one", "three"]
    assert job.status == "done"


def test_its_receipt_says_by_whom_and_why_after_the_run_is_done():
    job = failing()
    job.skip("two", reason="cannot work any more", by="ada")
    job.run()

    one, two, three = job.receipts()

    assert (two.skipped, two.owner, two.starts) == ("cannot work any more", "ada", 1)
    assert two.at is not None
    assert one.skipped == three.skipped == ""
    assert three.owner == current().label
    assert job.explain().endswith("it never runs again. Skipped by decision: two.")


def test_the_last_step_skipped_leaves_a_run_that_settles():
    job = Told.objects.start(orders={"three": "fail no"})
    job.run()

    job.skip("three", reason="done by hand")

    assert job.status == "pending"
    assert job.run()
    assert "Skipped by decision: three" in job.explain()


def test_a_run_that_was_given_up_goes_on_with_a_fresh_budget():
    job = Told.objects.start(orders={"two": "refuse no"})
    job.run()
    assert job.status == "dead"

    assert job.skip("two", reason="done by hand")

    assert (job.status, job.attempts, job.settled_at, job.last_error) == ("pending", 0, None, "")
    assert job.run()


@pytest.mark.parametrize("status", ["running", "done", "canceled"])
def test_a_run_that_is_held_done_or_canceled_is_left_alone(status):
    job = failing()
    Told.objects.filter(pk=job.pk).update(status=status)
    before = Told.objects.filter(pk=job.pk).values().get()

    assert not job.skip("two", reason="no")

    assert Told.objects.filter(pk=job.pk).values().get() == before


def test_a_step_with_a_receipt_is_not_skipped():
    job = failing()

    assert not job.skip("one", reason="no")
    assert "skipped" not in Told.objects.get(pk=job.pk).step_log["one"]


def test_a_step_is_skipped_with_a_reason_and_by_its_name():
    job = failing()

    with pytest.raises(ValueError, match="with a reason"):
        job.skip("two", reason="  ")
    with pytest.raises(ValueError, match="has no step 'four'; its steps: one, two, three"):
        job.skip("four", reason="x")


def test_two_people_who_skip_different_steps_do_not_lose_either_decision():
    job = failing()
    seen, other = Seen(job.status, job.fence), Told.objects.get(pk=job.pk)

    assert job.skip("two", reason="a", seen=seen)
    assert not other.skip("three", reason="b", seen=seen)

    assert set(Told.objects.get(pk=job.pk).step_log) == {"one", "two"}


def test_an_owner_from_before_the_decision_writes_nothing():
    job = Told.objects.start()
    (run, right), *_ = claim(Told, using="default", owner=str(current()), lease=60, taking=Taking(pk=job.pk))
    expire_leases()
    Told.objects.filter(pk=job.pk).update(status="pending")  # as a release by another hand

    assert Told.objects.get(pk=job.pk).skip("two", reason="no longer wanted")

    with pytest.raises(LostLease):
        right.write({"two_at": run.created_at})
    assert Told.objects.get(pk=job.pk).step_log["two"]["skipped"] == "no longer wanted"


def test_a_claim_between_the_look_and_the_update_wins(monkeypatch):
    """The whole log is written back; were the fence not in the UPDATE, the receipt's entry of the claimer would be lost."""
    from durable import skipping

    job, real = failing(), skipping.transition

    def meanwhile(rows, *args, **more):
        def work():
            try:
                Told.objects.get(pk=job.pk).run()
            finally:
                connections.close_all()

        if connection.vendor == "postgresql":
            worker = threading.Thread(target=work)
            worker.start()
            worker.join()
        else:
            Told.objects.filter(pk=job.pk).update(fence=job.fence + 5)
        return real(rows, *args, **more)

    monkeypatch.setattr(skipping, "transition", meanwhile)

    assert not job.skip("two", reason="no")
    assert Told.objects.get(pk=job.pk).two_at is None


def test_killed_at_any_statement_the_step_is_skipped_whole_or_not_at_all(report):
    for number in range(60):
        job = failing()
        crash = in_child(lambda job=job: job.skip("two", reason="no"), crash_at=number)
        row = Told.objects.get(pk=job.pk)
        assert (row.two_at is not None) == ("two" in row.step_log) == (row.fence == 2), crash.boundary
        if not crash.killed:
            report("Job.skip", number)
            assert number > 4
            return
    raise AssertionError("it never came to an end")


def test_a_run_whose_place_was_taken_meanwhile_is_not_opened_by_a_skip():
    account = Account.objects.create(name="a")
    job = Closing.objects.start(account=account, orders={"two": "refuse no"})
    job.run()
    Closing.objects.start(account=account)

    with pytest.raises(AlreadyInFlight):
        job.skip("two", reason="no")
    job.refresh_from_db()
    assert (job.status, job.two_at) == ("dead", None)
