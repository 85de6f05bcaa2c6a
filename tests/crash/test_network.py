"""
The network drops, freezes, slows down, resets. A worker goes on within seconds, and nothing happens twice.

A frozen connection stays frozen for the whole test: whoever waits for it waits for ever.
"""

import time

import pytest

from . import results
from .app.models import Chore, Effect, Parcel
from .proxy import Proxy
from .workers import QUICK, seconds_until, until

pytestmark = pytest.mark.postgres
MANY = 12
LOOKING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT (SELECT%%IS NOT NULL%%'"


@pytest.fixture
def proxy(server):
    with Proxy(server.port) as proxy:
        yield proxy


def watch_through(proxy, workers, server, threads="2", **durable):
    worker = workers.start("--watch", "--threads", threads, url=server.url_at(proxy.port), durable=durable)
    until(lambda: server.value(LOOKING), "the worker to look for work")
    return worker


def all_done(model) -> bool:
    return not model.objects.exclude(status="done").exists()


def each_once(model) -> None:
    assert Effect.objects.count() == Effect.objects.values("run", "name").distinct().count()
    assert all_done(model)


def test_a_worker_idle_on_a_frozen_connection_takes_work_again_within_a_lease(proxy, workers, server):
    worker = watch_through(proxy, workers, server, threads="1")
    proxy.freeze()
    time.sleep(2 * QUICK["POLL"])  # it asks into the void meanwhile
    old = proxy.connections
    proxy.mode = "pass"  # new connections work; what the old ones carry stays held back
    job = Parcel.objects.start()

    seconds = seconds_until(lambda: all_done(Parcel), "the worker to come back")

    results.keep("recovery", "idle worker, connection frozen", lease_s=QUICK["LEASE"], **results.spread([seconds]))
    assert worker.is_alive
    assert old
    assert seconds < 2 * QUICK["LEASE"] + 2
    job.refresh_from_db()
    each_once(Parcel)


def test_a_step_on_a_frozen_connection_is_begun_again_after_its_timeout(proxy, workers, server):
    worker = watch_through(proxy, workers, server, STEP_TIMEOUT=2.0)
    chore = Chore.objects.start(how="query", seconds=0.7)
    until(
        lambda: (
            server.value("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%pg_sleep%%' AND state = 'active'")
            > 1
        )
    )
    proxy.freeze()
    time.sleep(1)
    proxy.mode = "pass"

    seconds = seconds_until(lambda: all_done(Chore), "the step to be done on another connection")

    results.keep("recovery", "step in hand, connection frozen, timeout 2 s", lease_s=2.0, **results.spread([seconds]))
    assert worker.is_alive
    chore.refresh_from_db()
    each_once(Chore)


def test_a_frozen_worker_does_not_keep_its_run_from_another_host(proxy, workers, server):
    watch_through(proxy, workers, server, STEP_TIMEOUT=2.0)
    Chore.objects.start(how="sleep", seconds=1.0)
    until(lambda: server.value("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"))
    proxy.freeze()  # and it stays so: this host is gone for everyone

    other = workers.start(
        "--watch",
        durable={"STEP_TIMEOUT": 2.0},
        before=["unshare", "--uts", "sh", "-c", 'hostname other; exec "$@"', "sh"],
    )
    seconds = seconds_until(lambda: all_done(Chore), "the other host to finish it")

    results.keep(
        "recovery", "host unreachable in the middle of a step, timeout 2 s", lease_s=2.0, **results.spread([seconds])
    )
    assert other.is_alive
    each_once(Chore)


@pytest.mark.parametrize("trouble", ["reset", "drop", pytest.param("slow", marks=pytest.mark.long)])
def test_work_goes_on_after_the_network_did_this(trouble, proxy, workers, server):
    worker = watch_through(proxy, workers, server)
    for _ in range(MANY):
        Chore.objects.start(seconds=0.1)
    until(lambda: Effect.objects.exists())

    if trouble == "slow":
        proxy.mode = "slow"
    elif trouble == "reset":
        for _ in range(5):
            proxy.reset()
            time.sleep(0.2)
    else:
        proxy.mode = "refuse"
        proxy.reset()
        time.sleep(1.5)
        proxy.mode = "pass"

    until(lambda: all_done(Chore), f"{trouble}: all done", seconds=60)
    assert worker.is_alive
    each_once(Chore)
