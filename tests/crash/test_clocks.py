"""
The clocks of workers do not matter: an hour or a day off, either way, nothing is taken early or late.

Nor do the zones of sessions: Django sets one per connection, and what it sets changes no comparison of instants.
"""

import subprocess
import sys
import time

import pytest
from django.db import connections

from durable import clock
from tests.needs import faketime_library

from .app.models import Chore, Effect, Parcel, Trouble
from .workers import until

pytestmark = pytest.mark.postgres
OFFSETS = ["+1h", "-1h", "+1d", "-1d"]
EACH = [pytest.param(one, marks=[] if one in ("-1h", "+1d") else pytest.mark.long) for one in OFFSETS]
ONE = [pytest.param(one, marks=[] if one == "+1h" else pytest.mark.long) for one in OFFSETS]


def off_by(offset: str) -> dict[str, str]:
    """The environment of a process whose clock is wrong by that much."""
    seconds = int(offset[:-1]) * {"h": 3600, "d": 86400}[offset[-1]]
    return {"LD_PRELOAD": faketime_library(), "FAKETIME": f"{seconds:+d}", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@pytest.mark.parametrize("offset", EACH)
def test_a_worker_whose_clock_is_wrong_takes_what_is_due_and_nothing_else(offset, server, workers):
    due = Chore.objects.start(seconds=1.0)
    held = Chore.objects.start()
    held_until = "status = 'running', fence = 7, owner = 'somebody', lease_expires_at = now() + interval '50 minutes'"
    server.ask(f"UPDATE crash_chore SET {held_until} WHERE id = %s", held.pk)

    worker = workers.start("--watch", **off_by(offset))
    until(lambda: Chore.objects.filter(pk=due.pk, status="running").exists(), worker.said)
    row = Chore.objects.get(pk=due.pk)
    left = (row.lease_expires_at - clock.read(connections["default"])).total_seconds()
    until(lambda: Chore.objects.filter(pk=due.pk, status="done").exists(), worker.said)

    held.refresh_from_db()
    assert abs(left - 2.0) < 2.0, "the lease was stamped by the worker's clock"
    assert (held.status, held.fence, held.owner) == ("running", 7, "somebody")
    due.refresh_from_db()
    for moment in (due.created_at, due.settled_at, due.begin_at, due.finish_at):
        assert abs((moment - clock.read(connections["default"])).total_seconds()) < 120


@pytest.mark.parametrize("offset", ONE)
def test_a_pass_whose_clock_is_wrong_retries_nothing_early(offset, server, workers):
    later, due = Parcel.objects.start(), Parcel.objects.start()
    server.ask("UPDATE crash_parcel SET due_at = now() + interval '50 minutes' WHERE id = %s", later.pk)

    workers.passes("--due-only", **off_by(offset))

    assert [Parcel.objects.get(pk=job.pk).status for job in (later, due)] == ["pending", "done"]


def test_the_wrong_clocks_are_wrong():
    for offset in OFFSETS:
        told = subprocess.run(
            [sys.executable, "-c", "import time; print(time.time())"], env=off_by(offset), capture_output=True
        )
        assert abs(float(told.stdout) - time.time()) > 3500


def test_two_workers_a_day_apart_share_the_work_and_repeat_nothing(workers):
    for _ in range(20):
        Chore.objects.start(seconds=0.1)

    for offset in ("+1d", "-1d"):
        workers.start("--watch", "--threads", "2", **off_by(offset))
    until(lambda: not Chore.objects.exclude(status="done").exists(), "all jobs done", seconds=60)

    assert Effect.objects.count() == 80
    assert Effect.objects.values("run", "name").distinct().count() == 80
    assert not Chore.objects.filter(losses__gt=0).exists()


def test_a_wrong_clock_spaces_attempts_by_the_databases(workers):
    job = Trouble.objects.start(harm="fail")

    workers.passes(**off_by("+1d"))

    job.refresh_from_db()
    wait = (job.due_at - clock.read(connections["default"])).total_seconds()
    assert 30 < wait <= 90, f"base 60 s, jitter 0.5: {wait}"


#: One that changes its clocks, and two that are no whole hours off.
ZONES = [
    "Europe/Berlin",
    pytest.param("America/St_Johns", marks=pytest.mark.long),
    pytest.param("Pacific/Chatham", marks=pytest.mark.long),
]


@pytest.mark.parametrize("zone", ZONES)
def test_the_zone_of_a_session_or_a_role_moves_no_lease(zone, server, workers):
    server.ask(f"ALTER ROLE postgres SET TimeZone = '{zone}'")
    try:
        for _ in range(3):
            Chore.objects.start(seconds=0.3)
        other = {"Europe/Berlin": "Pacific/Chatham"}.get(zone, "Europe/Berlin")
        crew = [workers.start("--watch", CRASH_TIME_ZONE=one) for one in (zone, other)]
        until(lambda: not Chore.objects.exclude(status="done").exists(), "all jobs done")
    finally:
        server.ask("ALTER ROLE postgres RESET TimeZone")

    assert all(worker.is_alive for worker in crew)
    assert Effect.objects.count() == 12
    assert not Chore.objects.filter(losses__gt=0).exists()


@pytest.mark.parametrize("change", ["2026-03-29 00:59:58", "2026-10-25 00:59:58"], ids=["into summer", "out of it"])
def test_a_lease_across_a_change_of_the_clocks_lasts_as_long_as_ever(change, server):
    """The statement's own arithmetic, at the second before the change, in the zone that changes."""
    sql = clock.later_sql("postgresql").replace("STATEMENT_TIMESTAMP()", f"TIMESTAMPTZ '{change}+00'")
    lasted = server.ask(
        f"SELECT set_config('TimeZone', 'Europe/Berlin', false), EXTRACT(epoch FROM ({sql}) - TIMESTAMPTZ '{change}+00')",
        60,
    )

    assert float(lasted[0][1]) == 60.0
