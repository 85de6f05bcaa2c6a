"""
Runs that harm whoever carries them out: killed processes, full memory, texts no database stores. The others go on.
"""

import shutil

import pytest

from .app.models import Effect, Parcel, Trouble
from .workers import until

pytestmark = pytest.mark.postgres
LIVES = 3
TEXT_LIMIT = 64 * 1024


def test_a_job_that_kills_its_process_is_given_up_and_the_others_are_done(workers):
    poison = Trouble.objects.start(harm="kill")
    for _ in range(3):
        Parcel.objects.start()

    deaths = 0
    while Trouble.objects.filter(pk=poison.pk, settled_at=None).exists():
        worker = workers.start("--watch", "--threads", "1", durable={"MAX_LOSSES": LIVES})
        settled = Trouble.objects.filter(pk=poison.pk, settled_at__isnull=False)
        until(lambda worker=worker, settled=settled: not worker.is_alive or settled.exists(), worker.said)
        deaths += not worker.is_alive
        assert deaths <= LIVES
    until(lambda: not Parcel.objects.exclude(status="done").exists(), "the others to be done")

    poison.refresh_from_db()
    assert deaths == LIVES
    assert poison.status == "dead"
    assert "lost 3 times in a row" in poison.last_error
    assert "harm_somebody" in poison.last_error
    assert [entry["type"] for entry in poison.failures] == ["WorkerLost"] * LIVES


def told(job) -> list[str]:
    return [entry["type"] for entry in type(job).objects.get(pk=job.pk).failures]


def test_a_job_that_fills_memory_fails_and_its_process_goes_on(workers):
    assert shutil.which("prlimit"), "this test limits a process's memory with prlimit: install util-linux"
    hungry = Trouble.objects.start(harm="memory")

    worker = workers.start("--watch", "--threads", "2", before=["prlimit", f"--as={1536 * 1024 * 1024}"])
    until(lambda: "MemoryError" in told(hungry), worker.said)
    Parcel.objects.start()

    until(lambda: not Parcel.objects.exclude(status="done").exists(), "another job to be done by the same process")
    hungry.refresh_from_db()
    assert worker.is_alive
    assert (hungry.status, hungry.lease_expires_at) == ("pending", None)


@pytest.mark.parametrize(("harm", "status"), [("text", "pending"), ("wait", "pending"), ("refuse", "dead")])
def test_a_text_that_no_database_stores_is_kept_as_one_that_it_does(harm, status, workers):
    job = Trouble.objects.start(harm=harm)
    other = Parcel.objects.start()

    workers.passes("--threads", "1")

    job.refresh_from_db()
    other.refresh_from_db()
    assert (job.status, job.lease_expires_at, job.owner) == (status, None, "")
    assert 0 < len(job.last_error.encode()) <= TEXT_LIMIT
    assert "\x00" not in job.last_error
    assert other.status == "done"
    assert Effect.objects.filter(run=other.pk).count() == 3
