"""
Many at once: a hundred failures in a second, eight boots at a time, counters at the end of their range.
"""

import pytest
from django.db import connections

from durable import clock, outbox
from durable.models import Message

from .app.models import Chore, Effect, Trouble
from .workers import until

pytestmark = pytest.mark.postgres
LARGEST = 2**31 - 1
BASE, LATEST = 60, 90  # seconds: Trouble's backoff, and the most its jitter makes of it


def waits_of(jobs) -> list[float]:
    now = clock.read(connections["default"])
    return [(job.due_at - now).total_seconds() for job in jobs]


def test_a_hundred_failures_in_a_second_are_not_retried_in_one(workers):
    for _ in range(100):
        Trouble.objects.start(harm="fail")

    workers.passes()

    failed = list(Trouble.objects.all())
    assert {job.attempts for job in failed} == {1}
    spread = [(job.due_at - job.updated_at).total_seconds() for job in failed]
    assert len({round(seconds, 1) for seconds in spread}) >= 50
    assert min(spread) >= BASE
    assert max(spread) <= LATEST


OFTEN = [LARGEST, *(pytest.param(one, marks=pytest.mark.long) for one in (47, 64, 1024, 1_000_000, LARGEST - 1))]


@pytest.mark.parametrize("attempts", OFTEN)
def test_a_job_tried_very_often_waits_as_long_as_its_cap(attempts, workers):
    job = Trouble.objects.start(harm="fail")
    Trouble.objects.filter(pk=job.pk).update(attempts=attempts)
    other = Chore.objects.start()

    workers.passes("--threads", "1")

    job.refresh_from_db()
    other.refresh_from_db()
    (wait,) = waits_of([job])
    assert BASE - 10 < wait <= LATEST
    assert other.status == "done"


def test_rows_at_the_end_of_their_counters_block_nobody(workers, server):
    spent = Trouble.objects.start(harm="fail")
    server.ask(
        "UPDATE crash_trouble SET status = 'running', owner = 'gone', fence = 5, attempts = %s, losses = %s,"
        " lease_expires_at = now() - interval '1 hour' WHERE id = %s", LARGEST, LARGEST, spent.pk
    )  # fmt: skip
    others = [Trouble.objects.start(harm="fail", until="/") for _ in range(3)]

    workers.passes("--threads", "1")

    spent.refresh_from_db()
    assert spent.status == "dead"
    for job in others:
        job.refresh_from_db()
        assert job.status == "done"


def test_eight_boots_at_once_do_every_step_once_and_lock_nobody_out(workers, server):
    """C22: forty jobs, half of them begun, and forty messages, half of them left by a sender that is gone."""
    deadlocks = "SELECT sum(deadlocks) FROM pg_stat_database"
    before = server.value(deadlocks)
    jobs = [Chore.objects.start() for _ in range(40)]
    begun = [job.pk for job in jobs[:20]]
    server.ask("UPDATE crash_chore SET begin_at = now(), attempts = 1 WHERE id = ANY(%s)", begun)

    letters = outbox.post_many("crash.letter", [{"n": n} for n in range(40)])
    gone = [letter.pk for letter in letters[:20]]
    server.ask(
        "UPDATE durable_message SET status = 'processing', fence = 1, attempts = 1, owner = 'gone/1',"
        " lease_expires_at = now() - interval '1 minute' WHERE id = ANY(%s)",
        gone,
    )

    boots = [workers.start("--wait", "5") for _ in range(8)]
    statuses = [boot.ends(60) for boot in boots]

    assert statuses == [0] * 8, boots[0].said
    assert not Chore.objects.exclude(status="done").exists()
    assert Effect.objects.count() == 20 * 3 + 20 * 4
    assert Effect.objects.values("run", "name").distinct().count() == 20 * 3 + 20 * 4
    assert not Message.objects.exclude(status="sent").exists()
    assert len(workers.ledger.read_text().splitlines()) == 40  # each posted once
    assert server.value(deadlocks) == before


def test_a_worker_under_a_storm_of_failures_still_does_the_rest(workers):
    for _ in range(200):
        Trouble.objects.start(harm="fail")
    workers.start("--watch", "--threads", "2")
    until(lambda: Trouble.objects.exclude(failures=[]).exists())

    Chore.objects.start()

    until(lambda: Chore.objects.get().status == "done", "a job among failing ones", seconds=20)
