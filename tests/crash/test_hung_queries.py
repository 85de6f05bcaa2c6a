"""
A query that hangs on the server must not outlive whoever asked: its transaction holds the run's row.
"""

import pytest

from . import results
from .app.models import Chore, Effect
from .workers import QUICK, seconds_until, until

pytestmark = pytest.mark.postgres
ASLEEP = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%%' AND state = 'active'"


def shorten(chore) -> None:
    """Let the query be quick for whoever comes next; the one in flight has been sent."""
    Chore.objects.filter(pk=chore.pk).update(seconds=0)


def test_a_killed_workers_query_does_not_keep_the_run_from_the_next(workers, server):
    worker = workers.start("--watch")
    chore = Chore.objects.start(how="query", seconds=60)
    until(lambda: server.value(ASLEEP))
    worker.kill()

    workers.start("--watch", before=["unshare", "--uts", "sh", "-c", 'hostname other; exec "$@"', "sh"])
    seconds = seconds_until(
        lambda: Effect.objects.filter(name="begin").exists() and server.value(ASLEEP) == 0,
        "the dead worker's query to end",
    )

    results.keep("recovery", "worker killed while its query ran", lease_s=QUICK["LEASE"], **results.spread([seconds]))
    assert seconds < QUICK["LEASE"] + 3
    chore.cancel()


def test_a_step_that_timed_out_in_a_query_gives_its_row_back(workers, server):
    worker = workers.start("--watch", durable={"STEP_TIMEOUT": 1.0})
    Chore.objects.start(how="query", seconds=60)
    until(lambda: server.value(ASLEEP))

    seconds = seconds_until(lambda: Chore.objects.get().failures != [], "the timeout to be on the row")

    assert "StepTimeout" in Chore.objects.get().last_error
    assert seconds < 5
    worker.kill()
