"""The heartbeat: renews at a third of the lease, never past the step's timeout, and cuts a hung database step off."""

import contextlib
import itertools
import os
import threading
import time

import pytest
from django.db import connection, connections
from django.test import override_settings

from durable import clock
from durable.contract import claim
from durable.heartbeat import Heartbeat
from durable.testing import expire_leases, run_until_settled
from tests.app.models import Told

from .actors import Forked, Meanwhile, until
from .marks import commits

pytestmark = commits


def lease_left(job) -> float:
    return (Told.objects.get(pk=job.pk).lease_expires_at - clock.read(connection)).total_seconds()


@override_settings(DURABLE={"LEASE": 1.8})
@pytest.mark.parametrize("begins", ["started before", "run at once"])
def test_a_lease_is_renewed_at_a_third_of_it_while_an_external_step_works(begins, hooks):
    seen, go = set(), threading.Event()
    hooks["two"] = lambda run: go.wait(20) and None
    if begins == "started before":
        Told.objects.start(key="k")

    def carry_out():
        connection.ensure_connection()  # begun ahead is only a run on an open one
        return Told.objects.run(key="k").status

    owner = Meanwhile(carry_out)

    def three_renewals():
        row = Told.objects.filter(key="k").first()
        if row and row.lease_expires_at is not None and row.two_at is None and row.one_at is not None:
            assert row.lease_expires_at > clock.read(connection)
            seen.add(row.lease_expires_at)
        return len(seen) >= 4

    until(three_renewals)
    go.set()

    assert owner.result() == "done"
    gaps = [(later - sooner).total_seconds() for sooner, later in itertools.pairwise(sorted(seen)[1:])]
    assert all(0.5 < gap < 1.8 for gap in gaps), gaps
    assert Told.objects.get(key="k").fence == 1


@override_settings(DURABLE={"LEASE": 0.9})
def test_a_child_forked_right_after_a_run_inherits_no_connection_of_the_thread(hooks):
    """SQLite would take the child for its parent, and the parent could remove the log that the child writes to."""
    connections.close_all()
    before = _ways_to_the_database()
    job = Told.objects.start()

    def held_until() -> object:
        return Told.objects.get(pk=job.pk).lease_expires_at

    def until_renewed(run) -> None:
        first = held_until()
        until(lambda: held_until() > first)

    hooks["two"] = until_renewed
    assert job.run()
    connections.close_all()

    child = Forked(lambda: print(sorted(_ways_to_the_database() - before)))

    assert child.wait() == 0
    assert child.said.strip() == "[]"


def _ways_to_the_database() -> set[str]:
    """Return the sockets and files of a database that this process has open."""
    names = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/self/fd/{number}"))
    return {name for name in names if name.startswith("socket:") or "sqlite3" in name}


def test_a_renewal_never_reaches_past_the_deadline_of_the_step():
    job = Told.objects.start()
    [(_, right)] = claim(Told, using="default", owner="a", lease=60)

    right.deadline = time.monotonic() + 5
    renewed = right.renew()

    assert renewed is True
    assert 3 < lease_left(job) <= 5


def test_after_the_deadline_nothing_is_renewed_but_the_run_is_still_ours():
    job = Told.objects.start()
    [(_, right)] = claim(Told, using="default", owner="a", lease=60)
    before = Told.objects.get(pk=job.pk).lease_expires_at

    right.deadline = time.monotonic() - 1
    renewed = right.renew()

    assert renewed is True
    assert Told.objects.get(pk=job.pk).lease_expires_at == before


@pytest.mark.postgres
def test_a_renewal_does_not_wait_for_our_own_step():
    job = Told.objects.start()
    [(_, right)] = claim(Told, using="default", owner="a", lease=60)
    locked, go = threading.Event(), threading.Event()

    def hold_the_row():
        from django.db import transaction

        with transaction.atomic():
            Told.objects.select_for_update().get(pk=job.pk)
            locked.set()
            assert go.wait(10)

    holder = Meanwhile(hold_the_row)
    assert locked.wait(10)

    renewed = Meanwhile(right.renew).result(within=5)
    go.set()
    holder.result()

    assert renewed is True


def test_a_beat_that_finds_another_owner_tells_the_claim():
    """C03: a failed heartbeat is not only logged."""
    job = Told.objects.start()
    [(_, late)] = claim(Told, using="default", owner="a", lease=0.3)
    expire_leases(job)
    claim(Told, using="default", owner="b", lease=60)
    heartbeat = Heartbeat()

    heartbeat.hold(late)

    until(lambda: late.lost)


@override_settings(DURABLE={"LEASE": 0.6, "STEP_TIMEOUT": 0.4})
@pytest.mark.postgres
@pytest.mark.parametrize("hang", ["in python", "in the database"])
def test_a_hung_database_step_is_cut_off_rolled_back_and_told(hooks, effects, hang):
    """C05: nothing else could free the row that its own receipt holds."""
    go = threading.Event()

    def hang_once(job):
        if len(Told.objects.get(pk=job.pk).failures) == 0:
            with connection.cursor() as cursor:
                if hang == "in python":
                    go.wait(1.5)
                    cursor.execute("SELECT 1")
                else:
                    cursor.execute("SELECT pg_sleep(30)")

    hooks["one"] = hang_once
    job = Told.objects.start()
    began = time.monotonic()

    done = Meanwhile(Told.objects.get(pk=job.pk).run).result()

    assert done is False
    assert time.monotonic() - began < 8
    job.refresh_from_db()
    assert job.status == "pending"
    assert job.failures[0]["type"] == "StepTimeout"
    assert "outlived its timeout" in job.last_error
    assert effects(job) == []
    run_until_settled(Told)
    assert effects(job) == ["one", "three"]


@pytest.mark.postgres
@override_settings(DURABLE={"LEASE": 0.6, "STEP_TIMEOUT": 0.4})
def test_a_step_that_waits_for_a_lock_for_ever_is_cut_off_too(hooks, effects):
    from django.db import transaction

    from tests.app.models import Account

    account = Account.objects.create(name="ada")
    locked, go = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            Account.objects.select_for_update().get(pk=account.pk)
            locked.set()
            assert go.wait(20)

    holder = Meanwhile(hold)
    assert locked.wait(10)
    hooks["one"] = lambda job: Account.objects.update(blocked=True) and None
    job = Told.objects.start()

    done = Meanwhile(Told.objects.get(pk=job.pk).run).result(within=8)
    go.set()
    holder.result()

    job.refresh_from_db()
    assert done is False
    assert job.failures[0]["type"] == "StepTimeout"
    assert effects(job) == []


def test_a_claim_that_finds_the_thread_idle_is_renewed_in_time():
    job, heartbeat = Told.objects.start(), Heartbeat()
    [(_, right)] = claim(Told, using="default", owner="a", lease=3)
    heartbeat.hold(right)
    heartbeat.let_go(right)
    until(lambda: heartbeat._idle)
    before = Told.objects.get(pk=job.pk).lease_expires_at

    heartbeat.hold(right)

    until(lambda: Told.objects.get(pk=job.pk).lease_expires_at > before, within=3)
    heartbeat.let_go(right)


@pytest.mark.postgres
def test_an_idle_heartbeat_keeps_no_connection():
    """Else it is what keeps a test database from being dropped."""
    job, heartbeat = Told.objects.start(), Heartbeat()
    [(_, right)] = claim(Told, using="default", owner="a", lease=0.3)
    heartbeat.hold(right)
    until(lambda: backends() > 1)

    heartbeat.let_go(right)

    until(lambda: backends() == 1, within=3)
    assert job.status == "pending"


def backends() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state IS NOT NULL")
        return cursor.fetchone()[0]
