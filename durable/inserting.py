"""
Inserting: the INSERT of a run, compiled once per model.

It is the one statement on the way into an operation, so it goes through a cursor instead of the ORM's compiler; and it
says ON CONFLICT DO NOTHING, which the ORM offers for bulk inserts only, without telling what it did.
"""

from __future__ import annotations

import functools
from typing import Any

from django.db import connections, models
from django.db.models.expressions import DatabaseDefault

from .clock import later_sql, now_sql, seconds_param
from .contract import Machine

__all__ = ["insert"]

#: Columns the database fills in from its own clock.
_NOW = ("created_at", "updated_at", "due_at")


def insert(run: Any, using: str, *, lease: float | None, on_conflict: str = "DO NOTHING") -> bool:
    """
    Insert a new run, due now. Return False, and change nothing, if its key or its place in flight is taken.

    Args:
        run: an unsaved run.
        using: the database alias; inside or outside a transaction.
        lease: seconds, for a run that is born claimed; None for one that waits for a claimer.
        on_conflict: "DO NOTHING", or "" for the database's own error.

    The columns that the database fills in are read from the row when somebody asks for them.
    """
    connection = connections[using]
    model: Any = type(run)
    names: list[str] = []
    params: list[Any] = []
    for field in _given_fields(model):
        value = field.pre_save(run, True)
        if isinstance(value, DatabaseDefault) or (value is None and not field.has_db_default()):
            continue  # what the column holds without being told
        names.append(field.name)
        params.append(field.get_db_prep_save(value, connection))
    if lease is not None:
        params.append(seconds_param(lease))
    step_names = getattr(run, "step_names", "")
    sql = _insert_sql(model, connection.vendor, tuple(names), lease is not None, step_names, on_conflict)
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        made = bool(cursor.rowcount == 1)
    run._state.db = using
    run._state.adding = not made
    if made:
        for name in (*_NOW, "lease_expires_at"):
            run.__dict__.pop(name, None)
    return made


@functools.cache
def _given_fields(model: Any) -> tuple[models.Field[Any, Any], ...]:
    """Return the fields whose values differ from one new run to the next."""
    alike = {*_alike(model, born_claimed=False, step_names=""), *_NOW, "lease_expires_at"}
    return tuple(field for field in model._meta.concrete_fields if not field.generated and field.name not in alike)


def _alike(model: Any, *, born_claimed: bool, step_names: str) -> dict[str, str | int]:
    """Return what is the same for every new run of a kind: part of the statement's text, not of its parameters."""
    machine: Machine = model.MACHINE
    alike: dict[str, str | int] = {
        "status": machine.claimed if born_claimed else machine.waiting,
        "fence": int(born_claimed),
        "attempts": int(born_claimed),
        "losses": 0,
        "last_error": "",
        "failures": "[]",
        "step_log": "{}",
        "step_names": step_names,
    }
    has = {field.name for field in model._meta.concrete_fields}
    return {name: value for name, value in alike.items() if name in has}


@functools.lru_cache(maxsize=1024)
def _insert_sql(
    model: Any, vendor: str, names: tuple[str, ...], born_claimed: bool, step_names: str, on_conflict: str
) -> str:
    quote = '"{}"'.format
    column = {field.name: quote(field.column) for field in model._meta.concrete_fields}
    alike = _alike(model, born_claimed=born_claimed, step_names=step_names)
    targets = [column[name] for name in (*names, *alike, *_NOW)]
    values = ["%s"] * len(names)
    values += [str(value) if isinstance(value, int) else f"'{value}'" for value in alike.values()]
    values += [now_sql(vendor)] * len(_NOW)
    if born_claimed:
        targets.append(column["lease_expires_at"])
        values.append(later_sql(vendor))
    # Names of our own columns, quoted; words of a Machine and names of methods, which need no escape.
    into = f"{quote(model._meta.db_table)} ({', '.join(targets)})"
    sql = f"INSERT INTO {into} VALUES ({', '.join(values)})"  # noqa: S608
    return f"{sql} ON CONFLICT {on_conflict}" if on_conflict else sql
