"""A worker that dies is noticed, named and counted; one that kills every worker is given up. S4"""

import os
import signal

from django.test import override_settings

from durable.runner import Reconciler
from durable.shutdown import Shutdown
from durable.testing import expire_leases, run_until_settled
from tests.app.models import Budgeted, Told

from .actors import Forked, until
from .marks import commits

pytestmark = commits


def die(job):
    os.kill(os.getpid(), signal.SIGKILL)


def boot() -> Reconciler:
    reconciler = Reconciler([Told, Budgeted], Shutdown(grace=0))
    reconciler.prepare()
    reconciler.run_pass()
    return reconciler


def kill_a_worker_at(job, step: str, hooks) -> int:
    hooks[step] = die
    child = Forked(job.run)
    assert child.wait() == -signal.SIGKILL
    del hooks[step]
    return child.pid


def test_the_next_boot_pass_of_the_same_host_takes_over_at_once(hooks, effects):
    """S4: without waiting for the lease, as the process provably no longer exists."""
    job = Told.objects.start()
    pid = kill_a_worker_at(job, "two", hooks)

    reconciler = boot()

    job.refresh_from_db()
    assert reconciler.report.taken_over == 1
    assert job.status == "done"
    assert effects(job) == ["one", "three"]
    [entry] = job.failures
    assert (entry["type"], entry["step"], entry["attempt"]) == ("WorkerLost", "two", 1)
    assert f"/{pid} vanished during two" in entry["message"]


def test_a_live_owner_of_the_same_host_is_left_alone(tmp_path):
    began, go = tmp_path / "began", tmp_path / "go"
    job = Told.objects.start(orders={"two": f"touch {began}; until {go}"})
    child = Forked(job.run)
    until(began.exists)

    reconciler = boot()
    held = Told.objects.get(pk=job.pk)
    go.touch()

    assert child.wait() == 0, child.said
    assert (reconciler.report.taken_over, held.status, held.fence) == (0, "running", 1)


def test_an_owner_of_another_host_is_waited_for():
    job = Told.objects.start()
    Told.objects.filter(pk=job.pk).update(status="running", owner="elsewhere/7 machine=a boot=b pids=1 start=1")
    from durable.clock import InSeconds

    Told.objects.filter(pk=job.pk).update(lease_expires_at=InSeconds(60))

    first = boot()
    expire_leases(job)
    boot()

    job.refresh_from_db()
    assert (first.report.taken_over, job.status) == (0, "done")


def test_a_child_that_nobody_has_waited_for_is_dead_too(hooks):
    """S4: a container's first process may never reap; what it left behind runs no more."""
    job = Told.objects.start()
    hooks["two"] = die
    child = Forked(job.run)
    until(lambda: is_a_zombie(child.pid))
    del hooks["two"]

    reconciler = boot()
    assert child.wait() == -signal.SIGKILL, child.said

    job.refresh_from_db()
    assert (reconciler.report.taken_over, job.status) == (1, "done")


def is_a_zombie(pid: int) -> bool:
    """Return whether all of its threads have ended, and nobody has waited for it."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (fields[0], fields[17]) == ("Z", "1")


@override_settings(DURABLE={"MAX_LOSSES": 3})
def test_a_run_that_kills_every_worker_is_given_up_and_says_so(hooks):
    job = Told.objects.start()
    hooks["one"] = die

    for _ in range(3):
        child = Forked(job.run)
        assert child.wait() == -signal.SIGKILL
        expire_leases(job)
    del hooks["one"]
    boot()

    job.refresh_from_db()
    assert (job.status, job.losses, job.lease_expires_at) == ("dead", 3, None)
    assert job.last_error.startswith("given up: the worker was lost 3 times in a row")
    assert "during one" in job.last_error
    assert [entry["type"] for entry in job.failures] == ["WorkerLost"] * 3


def test_a_kind_may_set_its_own_patience(hooks):
    job = Budgeted.objects.start()
    hooks["one"] = die

    for _ in range(2):
        Forked(job.run).wait()
        expire_leases(job)
    del hooks["one"]
    boot()

    job.refresh_from_db()
    assert (job.status, job.losses) == ("dead", 2)


def test_a_receipt_between_two_losses_begins_the_count_anew(hooks, effects):
    job = Budgeted.objects.start()
    kill_a_worker_at(job, "one", hooks)
    expire_leases(job)
    kill_a_worker_at(job, "two", hooks)
    expire_leases(job)
    kill_a_worker_at(job, "three", hooks)

    run_until_settled(Budgeted)

    job.refresh_from_db()
    assert (job.status, job.losses, len(job.failures)) == ("done", 0, 3)
    assert effects(job) == ["one", "three"]


def test_a_loss_is_an_attempt_and_the_budget_counts_it(hooks):
    """One crash and one failure: two attempts, the budget of this kind."""
    job = Budgeted.objects.start(orders={"one": "fail down"})
    kill_a_worker_at(job, "one", hooks)
    expire_leases(job)

    boot()

    job.refresh_from_db()
    assert (job.status, job.last_error) == ("dead", "given up after 2 attempts: ValueError: down")


def test_a_loss_that_spends_the_budget_is_told_as_spent(hooks):
    job = Budgeted.objects.start(orders={"one": "fail down"})
    job.run()
    job.retry()
    Budgeted.objects.filter(pk=job.pk).update(attempts=1)
    kill_a_worker_at(job, "one", hooks)
    expire_leases(job)

    boot()

    job.refresh_from_db()
    assert job.status == "dead"
    assert job.last_error.startswith("given up after 2 attempts: WorkerLost")
