"""An owner that lost its lease writes nothing, whatever it still believes. S2, C01 C02 C03 C05"""

import logging
import threading
import time

import pytest
from django.db import connection, transaction
from django.test import override_settings

from durable import LostLease, signals
from durable.contract import claim
from durable.testing import expire_leases, run_until_settled
from tests.app.models import Told, effect

from .actors import Meanwhile, until
from .marks import commits

pytestmark = commits


def row_of(job) -> dict:
    return Told.objects.filter(pk=job.pk).values().get()


def taken(*, owner: str, lease: float = 60):
    [(run, right)] = claim(Told, using="default", owner=owner, lease=lease)
    return run, right


def test_a_late_heartbeat_does_not_take_the_lease_back(effects):
    """C03"""
    job = Told.objects.start()
    run, late = taken(owner="a")
    expire_leases(job)
    _, newer = taken(owner="b")
    before = row_of(job)

    renewed = late.renew()
    with pytest.raises(LostLease):
        run.advance(late)

    assert renewed is False
    assert row_of(job) == before
    assert (late.fence, newer.fence, before["fence"]) == (1, 2, 2)
    assert effects(job) == []


@pytest.mark.parametrize(
    "write",
    [
        lambda right: right.write({"last_error": "late"}),
        lambda right: right.release(),
        lambda right: right.settle("done"),
        lambda right: right.settle("dead", last_error="late"),
    ],
)
def test_every_write_of_a_late_owner_matches_no_row(write):
    """S2"""
    job = Told.objects.start()
    _, late = taken(owner="a")
    expire_leases(job)
    taken(owner="b")
    before = row_of(job)

    with pytest.raises(LostLease, match="we hold fence 1"):
        write(late)

    assert row_of(job) == before


def test_a_late_failure_is_not_recorded_either(hooks, caplog):
    job = Told.objects.start()
    hooks["two"] = lambda run: expire_leases(job) and taken(owner="b") and 1 / 0
    caplog.set_level(logging.INFO, logger="durable")

    done = job.run()

    assert done is False
    assert job.failures == []
    assert (job.owner, job.fence) == ("b", 2)
    assert "lease lost" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.postgres
def test_a_lapsed_lease_is_not_taken_while_its_owner_commits(hooks, effects):
    """C02: the owner's receipt holds the row; whoever looks for lapsed leases skips it, and finds it done."""
    stamped, go = threading.Event(), threading.Event()

    def lapse_before_the_last_step(sender, run, step, **facts):
        if step == "two":
            expire_leases(run)

    def work(job):
        stamped.set()
        assert go.wait(10)

    hooks["three"] = work
    signals.step_done.connect(lapse_before_the_last_step)
    job = Told.objects.start()
    owner = Meanwhile(Told.objects.get(pk=job.pk).run)
    assert stamped.wait(10)

    due = Told.objects.due().filter(pk=job.pk).exists()
    nothing = claim(Told, using="default", owner="b", lease=60)
    go.set()

    assert owner.result() is True
    signals.step_done.disconnect(lapse_before_the_last_step)
    assert (due, nothing) == (True, [])
    run_until_settled(Told)
    job.refresh_from_db()
    assert (job.status, job.fence, effects(job)) == ("done", 1, ["one", "three"])


@pytest.mark.postgres
@override_settings(DURABLE={"LEASE": 0.8})
def test_a_database_step_may_outlive_its_lease(hooks, effects):
    """C01: the step holds the row; another pass skips it, and the effect is there once."""
    began = threading.Event()

    def sleep_in_the_database(job):
        began.set()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(1.8)")

    hooks["one"] = sleep_in_the_database
    job = Told.objects.start()
    owner = Meanwhile(Told.objects.get(pk=job.pk).run)
    assert began.wait(10)
    until(lambda: Told.objects.filter(pk=job.pk, lease_expires_at=None).exists() or lapsed(job))

    nothing = claim(Told, using="default", owner="b", lease=60)

    assert nothing == []
    assert owner.result() is True
    job.refresh_from_db()
    assert (job.fence, job.failures, effects(job)) == (1, [], ["one", "three"])


def lapsed(job) -> bool:
    # As another transaction sees it: the lease that was committed with the claim.
    with connection.cursor() as cursor:
        cursor.execute("SELECT lease_expires_at < clock_timestamp() FROM app_told WHERE id = %s", [job.pk])
        return bool(cursor.fetchone()[0])


@override_settings(DURABLE={"LEASE": 1.2, "STEP_TIMEOUT": 1.0})
def test_a_hung_external_step_becomes_claimable_and_its_late_receipt_matches_nothing(hooks, effects):
    """C05: the renewal stops at the step's timeout, however healthy the process."""
    began, go = threading.Event(), threading.Event()

    def hang_once(job):
        if not began.is_set():
            began.set()
            assert go.wait(20)

    hooks["two"] = hang_once
    job = Told.objects.start()
    began_at = time.monotonic()
    owner = Meanwhile(Told.objects.get(pk=job.pk).run)
    assert began.wait(10)

    until(lambda: Told.objects.due().filter(pk=job.pk).exists(), within=8)
    run_until_settled(Told)
    waited, after = time.monotonic() - began_at, row_of(job)
    go.set()
    owner.result()

    assert waited < 8
    assert row_of(job) == after
    assert (after["status"], after["fence"]) == ("done", 2)
    assert after["failures"][0]["type"] == "WorkerLost"
    assert effects(job) == ["one", "three"]


def test_an_owner_that_was_fenced_off_begins_no_further_step(hooks, effects):
    """C03: after the lost receipt nothing more is tried."""
    job = Told.objects.start()

    def lose_it(run):
        expire_leases(job)
        taken(owner="b")

    hooks["two"] = lose_it

    job.run()

    assert effects(job) == ["one"]


def test_what_a_late_owner_did_in_its_transaction_is_rolled_back(effects):
    job = Told.objects.start()
    run, late = taken(owner="a")
    expire_leases(job)
    taken(owner="b")

    def late_effect():
        with transaction.atomic():
            effect(run, "late")
            late.write({"note": "late"})

    with pytest.raises(LostLease):
        late_effect()

    assert effects(job) == []
