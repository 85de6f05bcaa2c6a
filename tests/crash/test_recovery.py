"""
How long nobody works on a run after its worker was killed: measured, printed, and bounded by what is promised.

On another host: what is left of the lease, and one poll. On the same host: the next boot pass, whatever is left.
"""

import pytest

from tests.needs import on_host

from . import results
from .app.models import Call, Chore
from .workers import Worker, Workers, seconds_until, until

pytestmark = pytest.mark.postgres
LEASE, POLL, JITTER = 1.0, 0.2, 1.25
SLACK = 1.5  # seconds a busy machine may need for what takes milliseconds
FEW = " (few)"
MANY_LIVES = {"MAX_LOSSES": 1000}


def holder(job: Call | Chore, crew: list[Worker], fence: int) -> Worker | None:
    """Return the worker that took the job after that fence."""
    job.refresh_from_db()
    if job.fence <= fence or job.status != "running":
        return None
    return next((worker for worker in crew if f"/{worker.pid} " in job.owner), None)


def handed_over(workers: Workers, times: int) -> list[float]:
    """Kill whoever holds the run, again and again; return how long the other host took each time."""

    def one_more(number: int) -> Worker:
        durable = {"LEASE": LEASE, "POLL": POLL, "STEP_TIMEOUT": 1000.0, **MANY_LIVES}
        return workers.start("--watch", before=on_host(f"host-{number}"), durable=durable)

    # An external step: while a database step holds the row its lease is not renewed, and the next poll would do.
    job = Call.objects.start(seconds=900)
    crew = [one_more(0), one_more(1)]
    seconds: list[float] = []
    owner = until(lambda: holder(job, crew, 0), "a worker to take it")
    for number in range(times):
        until(lambda: "Watching" in crew[-1].said)
        fence = job.fence
        owner.kill()
        crew.remove(owner)
        seconds.append(seconds_until(lambda fence=fence: holder(job, crew, fence), "the other host to take it"))
        owner = holder(job, crew, fence)
        crew.append(one_more(number + 2))
    return seconds


def taken_over(workers: Workers, times: int) -> list[float]:
    """Kill a worker with a lease of an hour, start a boot pass on its host; return from its start to the job's end."""
    seconds = []
    for _ in range(times):
        job = Chore.objects.start(seconds=900)
        worker = workers.start("--watch", durable={"LEASE": 3600.0})
        until(lambda job=job, worker=worker: holder(job, [worker], 0))
        worker.kill()
        Chore.objects.filter(pk=job.pk).update(seconds=0)
        boot = workers.start(durable={"LEASE": 3600.0})
        done = Chore.objects.filter(pk=job.pk, status="done")
        seconds.append(seconds_until(done.exists, boot.said))
        assert boot.ends() == 0
    return seconds


def elsewhere(workers: Workers, times: int, note: str = "") -> None:
    seconds = handed_over(workers, times)

    name = f"worker killed, another host goes on{note}"
    results.keep("recovery", name, lease_s=LEASE, poll_s=POLL, **results.spread(seconds))
    assert max(seconds) < LEASE + POLL * JITTER + SLACK


def same_host(workers: Workers, times: int, note: str = "") -> None:
    seconds = taken_over(workers, times)

    name = f"worker killed, boot pass on its host, its start included{note}"
    results.keep("recovery", name, lease_s=3600, **results.spread(seconds))
    assert max(seconds) < 10


def test_another_host_goes_on_within_lease_and_poll(workers):
    elsewhere(workers, 4, FEW)


def test_a_boot_pass_on_the_same_host_goes_on_at_once(workers):
    same_host(workers, 2, FEW)


@pytest.mark.long
def test_another_host_goes_on_within_lease_and_poll_fifty_times(workers):
    elsewhere(workers, 50)


@pytest.mark.long
def test_a_boot_pass_on_the_same_host_goes_on_at_once_fifty_times(workers):
    same_host(workers, 50)
