"""
Every backend is terminated each second, for ten seconds and for a minute. The workers stay, the work is done.
"""

import time

import pytest
from django.db import connections

from .app.models import Chore, Effect
from .workers import until

pytestmark = pytest.mark.postgres
TERMINATE = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


def storm(seconds: float, server, workers) -> None:
    crew = [workers.start("--watch", "--threads", "2") for _ in range(2)]
    started = terminated = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(4):
            Chore.objects.start(seconds=0.05)
            started += 1
        time.sleep(1)
        connections.close_all()
        terminated += server.value(TERMINATE)

    until(lambda: not Chore.objects.exclude(status="done").exists(), "all jobs done", seconds=60)

    assert terminated > seconds
    assert all(worker.is_alive for worker in crew), "\n".join(worker.said[-2000:] for worker in crew)
    assert Effect.objects.count() == 4 * started
    assert Effect.objects.values("run", "name").distinct().count() == 4 * started
    assert not Chore.objects.exclude(failures=[]).exists(), "a lost connection was counted as a failure"


def test_workers_outlive_ten_seconds_of_terminated_backends(server, workers):
    storm(10, server, workers)


@pytest.mark.long
def test_workers_outlive_a_minute_of_terminated_backends(server, workers):
    storm(60, server, workers)


def test_an_idle_worker_outlives_a_terminated_backend_twice(server, workers):
    """C19"""
    worker = workers.start("--watch")
    for _ in range(2):
        until(
            lambda: server.value(
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT (SELECT%%IS NOT NULL%%'"
            )
        )
        connections.close_all()
        server.ask(TERMINATE)

    Chore.objects.start()

    until(lambda: Chore.objects.get().status == "done", "the same process to do it", seconds=15)
    assert worker.is_alive
