"""What an owner sends: every write names its fence and its status, and no clock but the database's."""

from __future__ import annotations

import datetime
import re

import pytest
from django.db import connection, transaction

from durable import Refused, Wait
from durable.attempt import attempt
from durable.contract import Later, Taking
from durable.contract import claim as claim_runs

from .far_side import FAR_SIDE
from .models import Chore
from .statements import sent
from .verbs import lapse, take

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

TABLE = Chore._meta.db_table


@pytest.fixture
def everything_an_owner_sends(subject_jobs):
    """One run that meets everything: a lost worker, a failure, a wait, a heartbeat, a release, all steps, a refusal."""
    with sent(TABLE) as statements:
        run = subject_jobs.make()
        take(subject_jobs, run.pk, "killed")
        lapse(subject_jobs, run.pk)
        for step, end in (("draw", RuntimeError("down")), ("call", Wait(5)), ("tell", None), ("close", None)):
            if end is not None:
                FAR_SIDE.script(run.pk, step, end)
            claimed, right = take(subject_jobs, run.pk, "worker")
            right.renew()
            attempt(claimed, right)
            if end is None:
                break
        for ending in ("refused", "released", "settled"):
            run = subject_jobs.make()
            claimed, right = take(subject_jobs, run.pk, "worker")
            if ending == "refused":
                FAR_SIDE.script(run.pk, "draw", Refused("no"))
                attempt(claimed, right)
            elif ending == "released":
                right.release()
            else:
                right.settle("dead")
    return statements


def test_every_write_of_an_owner_names_its_fence_and_the_status_it_leaves(everything_an_owner_sends):
    writes = [sql for sql, _ in everything_an_owner_sends if sql.startswith("UPDATE") and "-1.0" not in sql]
    owners = [sql for sql in writes if '"lease_expires_at" IS NOT NULL' not in sql]

    for sql in owners:
        where = sql.partition(" WHERE ")[2]
        assert '"fence" = %s' in where, sql
        assert '"status" IN (' in where, sql
    columns = {name for sql in owners for name in re.findall(r'"(\w+)" =', sql.partition(" WHERE ")[0])}
    assert {"draw_at", "call_at", "tell_at", "close_at", "drawn", "handle", "failures", "due_at"} <= columns


def test_a_receipt_is_written_once(everything_an_owner_sends):
    for step in ("draw", "call", "tell", "close"):
        stamps = [sql for sql, _ in everything_an_owner_sends if f'SET "{step}_at" = ' in sql]
        assert stamps
        assert all(f'"{step}_at" IS NULL' in sql for sql in stamps)


def test_no_statement_carries_a_time_of_the_workers_clock(everything_an_owner_sends):
    times = (datetime.datetime, datetime.date, datetime.time)

    assert not [sql for sql, params in everything_an_owner_sends if any(isinstance(p, times) for p in params or ())]
    assert not [sql for sql, _ in everything_an_owner_sends if re.search(r"'20\d\d-|\bNOW\(\)|CURRENT_TIMESTAMP", sql)]


def test_a_lease_stamped_late_in_a_long_transaction_is_not_born_old(subject_jobs):
    run = subject_jobs.make()
    _, right = take(subject_jobs, run.pk, "worker")

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT STATEMENT_TIMESTAMP()")
        cursor.execute("SELECT pg_sleep(0.3)")
        right.write({"lease_expires_at": Later(60)})
        cursor.execute(
            f"SELECT lease_expires_at - CLOCK_TIMESTAMP() > INTERVAL '59.9 seconds' FROM \"{TABLE}\" WHERE id = %s",
            [run.pk],
        )
        (full,) = cursor.fetchone()

    assert full


@pytest.mark.parametrize("switch", ["nestloop", "hashjoin", "mergejoin", "material", "indexscan", "seqscan"])
def test_a_claim_takes_no_more_than_its_limit_whatever_the_planner_prefers(subject_jobs, switch):
    """C42: planned as a join, the choice could be made again for each row."""
    for _ in range(5):
        subject_jobs.make()

    with sent(TABLE) as statements, transaction.atomic(), connection.cursor() as cursor:
        for other in {"nestloop", "hashjoin", "mergejoin", "material"} - {switch}:
            cursor.execute(f"SET LOCAL enable_{other} = off")
        cursor.execute(f"SET LOCAL enable_{switch} = off")
        taken = claim_runs(
            Chore, using="default", owner="worker", lease=60, limit=2, taking=Taking(also=Chore.can_carry_out())
        )

    assert len(taken) == 2
    assert Chore.objects.filter(status="running").count() == 2
    assert "AS MATERIALIZED (" in statements[-1][0]
