"""What every worker asks all the time is answered from one index, however many runs are settled, statistics or not."""

from __future__ import annotations

import pytest
from django.db import connection

from durable.contract import claim
from durable.runner import Reconciler
from durable.shutdown import Shutdown

from .statements import nodes_of, plan_of, sent
from .subjects import SUBJECTS, Subject

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

SETTLED, DUE = 100_000, 400

#: A pass is one row, made again and again: its table never grows.
GROWING = [subject for subject in SUBJECTS if subject.name != "pass"]


@pytest.mark.parametrize("subject", GROWING, ids=lambda subject: subject.name)
@pytest.mark.parametrize("analyzed", ["never", "now"])
def test_what_workers_ask_is_read_from_an_index_in_its_order(subject: Subject, analyzed: str):
    """Claims of both kinds, the probe of an idle worker, and maintenance, beside a hundred thousand settled runs."""
    with subject.deployed(subject.deploys[-1]):
        _crowd(subject)
        with connection.cursor() as cursor:
            if analyzed == "now":
                cursor.execute(f"ANALYZE {subject.model._meta.db_table}")
            else:
                _never_looked_at(cursor, subject.model._meta.db_table)
        _ask_what_workers_ask(subject)


@pytest.mark.parametrize("subject", GROWING, ids=lambda subject: subject.name)
def test_statistics_of_an_hour_when_next_to_nothing_was_due_mislead_nobody(subject: Subject):
    """
    What they say of that hour does not enter: the planner expects as much to be due as ever, so it never sorts.

    Whether an estimate of a few rows ends in a sort hangs on what the sample held; that there is no such estimate does not.
    """
    table = subject.model._meta.db_table
    with subject.deployed(subject.deploys[-1]):
        _crowd(subject)
        for few in (0, 4):
            with connection.cursor() as cursor:
                subject.model._base_manager.filter(due_at__isnull=False).delete()
                _copies(cursor, subject, few, settled=False)
                cursor.execute(
                    f"UPDATE {table} SET due_at = due_at - random() * INTERVAL '1 minute' WHERE due_at < NOW()"
                )
                cursor.execute(f"ANALYZE {table}")
                _copies(cursor, subject, DUE, settled=False)
            for statement in _ask_what_workers_ask(subject):
                (scan,) = (node for node in nodes_of(plan_of(statement)) if "due" in node.get("Index Name", ""))
                assert scan["Plan Rows"] > SETTLED / 10, f"{statement[0]}: {scan}"


def _ask_what_workers_ask(subject: Subject) -> list:
    """Ask it, see that each answer is read by index in order; the statements that claimed."""
    model, claims = subject.model, []

    for ahead in (False, True):
        for limit in (1, 16, 100):
            with sent(model._meta.db_table) as statements:
                (lane,) = (lane for lane in model.lanes("default") if lane.name in ("", subject.name, *subject.every))
                taking = lane.taking(ahead=ahead)
                taken = claim(model, using="default", owner="worker", lease=60, limit=limit, taking=taking)
            assert len(taken) == limit
            _reads_by_index(statements, "due")
            claims += statements

    with sent(model._meta.db_table) as statements:
        assert Reconciler([model], Shutdown(grace=0))._anything_due()
    _reads_by_index(statements, "due")

    with sent(model._meta.db_table) as statements:
        model.maintain("default")
    for statement in statements:
        kinds = [node["Node Type"] for node in nodes_of(plan_of(statement))]
        assert "Seq Scan" not in kinds, f"{statement[0]}: {kinds}"
    return claims


def _crowd(subject: Subject) -> None:
    """Make a hundred thousand settled runs, and a few that are due."""
    with connection.cursor() as cursor:
        _copies(cursor, subject, SETTLED, settled=True)
        _copies(cursor, subject, DUE, settled=False)


def _never_looked_at(cursor, table: str) -> None:
    """Forget what autovacuum saw, for a test before or while the crowd was on its way: it counts half of that then."""
    cursor.execute("DELETE FROM pg_statistic WHERE starelid = %s::regclass", [table])
    cursor.execute("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE oid = %s::regclass", [table])


def _reads_by_index(statements: list, column: str) -> None:
    assert statements
    for statement in statements:
        nodes = nodes_of(plan_of(statement))
        kinds = [node["Node Type"] for node in nodes]
        indexes = [node.get("Index Name", "") for node in nodes]
        assert not {"Sort", "Incremental Sort", "Seq Scan"} & set(kinds), f"{statement[0]}: {kinds}"
        assert any(column in name for name in indexes), f"{statement[0]}: {indexes}"


def _copies(cursor, subject: Subject, number: int, *, settled: bool) -> None:
    run, model = subject.make(), subject.model
    key = "NULL" if model._meta.get_field("key").null else "gen_random_uuid()::text"
    changed = {"id": "gen_random_uuid()", "key": key, "created_at": "created_at - n * INTERVAL '1 second'"}
    if settled:
        changed |= {"status": f"'{model.MACHINE.done}'", "due_at": "NULL", "settled_at": "NOW()"}
    names = [field.column for field in model._meta.concrete_fields]
    values = [changed.get(name, f'"{name}"') for name in names]
    columns = ", ".join(f'"{name}"' for name in names)
    table = model._meta.db_table
    cursor.execute(
        f"INSERT INTO {table} ({columns}) SELECT {', '.join(values)}"
        f" FROM {table}, generate_series(1, %s) AS n WHERE id = %s",
        [number, run.pk],
    )
