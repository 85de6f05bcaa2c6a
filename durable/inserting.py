"""
Inserting: the INSERT of a run, compiled once per model.

It is the one statement on the way into an operation, so it goes through a cursor instead of the ORM's compiler; and it
says ON CONFLICT DO NOTHING, which the ORM offers for bulk inserts only, without telling what it did.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import connections, models
from django.db.models.expressions import DatabaseDefault

from . import cursors
from .clock import later_sql, now_sql, seconds_param
from .contract import Machine

__all__ = ["alike", "insert", "insert_many"]

#: Columns the database fills in from its own clock.
_NOW = ("created_at", "updated_at", "due_at")


def insert(
    run: Any,
    using: str,
    *,
    lease: float | None,
    on_conflict: str = "DO NOTHING",
    ahead: Callable[[tuple[str, list[Any]]], bool | None] | None = None,
) -> bool:
    """
    Insert a new run, due now. Return False, and change nothing, if its key or its place in flight is taken.

    Args:
        run: an unsaved run.
        using: the database alias; inside or outside a transaction.
        lease: seconds, for a run that is born claimed; None for one that waits for a claimer.
        on_conflict: "DO NOTHING", or "" for the database's own error.
        ahead: sends the SQL and its parameters together with what follows them, and returns whether the run is inserted;
            or None where it sent nothing, and the INSERT goes by itself.

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
    made = None if ahead is None else ahead((sql, params))
    if made is None:
        made = cursors.write(connection, sql, params, often=True) == 1
    run._state.db = using
    run._state.adding = not made
    if made:
        for name in (*_NOW, "lease_expires_at"):
            run.__dict__.pop(name, None)
    return made


def insert_many(
    model: Any, using: str, names: Sequence[str], rows: Sequence[Sequence[Any]], same: Mapping[str, Any], due_in: float
) -> int:
    """
    Insert new runs that wait for a claimer with one statement, leaving out those whose key is taken.

    Args:
        model: the kind.
        using: the database alias; inside or outside a transaction.
        names: the fields that each row gives a value of.
        rows: the values: texts, or numbers, as the columns' types read them.
        same: what is the same for each of them besides what is so for every new run.
        due_in: seconds from now until they are due.

    Returns:
        How many were made.
    """
    connection = connections[using]
    later = [seconds_param(due_in)] if due_in else []
    if connection.vendor == "postgresql" and len(rows) > 1:
        sql = _insert_columns_sql(model, tuple(names), tuple(same), bool(due_in), using)
        params = [*same.values(), *later, *map(cursors.as_array, zip(*rows, strict=True))]
    else:
        sql = _insert_many_sql(model, connection.vendor, (*names, *same), len(rows), bool(due_in))
        params = [value for row in rows for value in (*row, *same.values(), *later)]
    return cursors.write(connection, sql, params)


@functools.lru_cache(maxsize=64)
def _insert_many_sql(model: Any, vendor: str, names: tuple[str, ...], rows: int, later: bool) -> str:
    into, constants, times = _shape_of_many(model, vendor, names, later=later)
    row = ", ".join([*["%s"] * len(names), *constants, *times])
    return f"{into} VALUES {', '.join([f'({row})'] * rows)} ON CONFLICT DO NOTHING"


@functools.lru_cache(maxsize=64)
def _insert_columns_sql(model: Any, names: tuple[str, ...], same: tuple[str, ...], later: bool, using: str) -> str:
    # A list a column: a statement that names each value takes longer to read than all the rest.
    into, constants, times = _shape_of_many(model, "postgresql", (*names, *same), later=later)
    fields = [model._meta.get_field(name) for name in names]
    given = ", ".join(f'"{field.column}"' for field in fields)
    arrays = ", ".join(f"%s::{cursors.array_of(field, connections[using])}" for field in fields)
    values = ", ".join([given, *["%s"] * len(same), *constants, *times])
    return f"{into} SELECT {values} FROM UNNEST({arrays}) AS given ({given}) ON CONFLICT DO NOTHING"  # noqa: S608


def _shape_of_many(model: Any, vendor: str, names: Sequence[str], *, later: bool) -> tuple[str, list[str], list[str]]:
    """Return what rows are inserted into, and as SQL what is alike in all of them, and their times."""
    others = {name: value for name, value in alike(model).items() if name not in names}
    columns = ", ".join(f'"{model._meta.get_field(name).column}"' for name in (*names, *others, *_NOW))
    times = [now_sql(vendor)] * 2 + [later_sql(vendor) if later else now_sql(vendor)]
    return f'INSERT INTO "{model._meta.db_table}" ({columns})', _constants(others), times  # our own columns, quoted


def alike(model: Any) -> dict[str, str | int]:
    """Return what is the same for every new run of a kind that waits for a claimer."""
    return _alike(model, born_claimed=False, step_names="")


@functools.cache
def _given_fields(model: Any) -> tuple[models.Field[Any, Any], ...]:
    """Return the fields whose values differ from one new run to the next."""
    ours = {*alike(model), *_NOW, "lease_expires_at"}
    return tuple(field for field in model._meta.concrete_fields if not field.generated and field.name not in ours)


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


def _constants(alike: Mapping[str, str | int]) -> list[str]:
    """Return them as SQL: words of a Machine, names of methods, and numbers, which need no escape."""
    return [str(value) if isinstance(value, int) else f"'{value}'" for value in alike.values()]


@functools.lru_cache(maxsize=1024)
def _insert_sql(
    model: Any, vendor: str, names: tuple[str, ...], born_claimed: bool, step_names: str, on_conflict: str
) -> str:
    quote = '"{}"'.format
    column = {field.name: quote(field.column) for field in model._meta.concrete_fields}
    alike = _alike(model, born_claimed=born_claimed, step_names=step_names)
    targets = [column[name] for name in (*names, *alike, *_NOW)]
    values = ["%s"] * len(names)
    values += _constants(alike)
    values += [now_sql(vendor)] * len(_NOW)
    if born_claimed:
        targets.append(column["lease_expires_at"])
        values.append(later_sql(vendor))
    # Names of our own columns, quoted.
    into = f"{quote(model._meta.db_table)} ({', '.join(targets)})"
    sql = f"INSERT INTO {into} VALUES ({', '.join(values)})"  # noqa: S608
    return f"{sql} ON CONFLICT {on_conflict}" if on_conflict else sql
