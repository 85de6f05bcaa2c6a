"""
Inserting: the INSERT of a run, compiled once per model.

It is the one statement on the way into an operation, so it goes through a cursor instead of the ORM's compiler; and it
says ON CONFLICT DO NOTHING, which the ORM offers for bulk inserts only, without telling what it did.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from django.db import connections, models
from django.db.models.expressions import DatabaseDefault

from .clock import later_sql, now_sql, seconds_param
from .contract import Machine

__all__ = ["insert", "insert_many"]

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


def insert_many(runs: Sequence[Any], using: str, *, due_in: float = 0.0) -> set[Any]:
    """
    Insert new runs of one kind with one statement, leaving out those whose key is taken. Return the primary keys made.

    Args:
        runs: unsaved runs of one kind.
        using: the database alias; inside or outside a transaction.
        due_in: seconds from now until they are due.
    """
    if not runs:
        return set()
    connection = connections[using]
    model: Any = type(runs[0])
    if len(runs) > 1 and not connection.features.can_return_rows_from_bulk_insert:
        return {pk for run in runs for pk in insert_many([run], using, due_in=due_in)}
    fields = [field for field in _given_fields(model) if any(_is_given(field, run) for run in runs)]
    columns = [[field.get_db_prep_save(field.pre_save(run, True), connection) for run in runs] for field in fields]
    names, later = tuple(field.name for field in fields), [seconds_param(due_in)] if due_in else []
    params: list[Any]
    if (
        connection.vendor == "postgresql" and len(runs) > 1
    ):  # a text that names each value takes longer than all the rest
        params = [*later, *columns]
        sql = _insert_columns_sql(model, names, bool(due_in), using)
    else:
        params = [value for row in zip(*columns, strict=True) for value in (*row, *later)]
        sql = _insert_many_sql(model, connection.vendor, names, len(runs), bool(due_in))
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        if len(runs) == 1:
            made = {runs[0].pk} if cursor.rowcount == 1 else set()
        else:
            made = {model._meta.pk.to_python(row[0]) for row in cursor.fetchall()}
    for run in runs:
        run._state.db, run._state.adding = using, run.pk not in made
        for name in (*_NOW, "lease_expires_at"):
            run.__dict__.pop(name, None)
    return made


def _is_given(field: Any, run: Any) -> bool:
    value = field.pre_save(run, True)
    return not isinstance(value, DatabaseDefault) and (value is not None or field.has_db_default())


@functools.lru_cache(maxsize=64)
def _insert_many_sql(model: Any, vendor: str, names: tuple[str, ...], rows: int, later: bool) -> str:
    quote = '"{}"'.format
    column = {field.name: quote(field.column) for field in model._meta.concrete_fields}
    alike = _alike(model, born_claimed=False, step_names="")
    targets = ", ".join(column[name] for name in (*names, *alike, "created_at", "updated_at", "due_at"))
    now = now_sql(vendor)
    same = [str(value) if isinstance(value, int) else f"'{value}'" for value in alike.values()]
    row = ", ".join([*["%s"] * len(names), *same, now, now, later_sql(vendor) if later else now])
    returning = f" RETURNING {column['id']}" if rows > 1 else ""
    return (  # names of our own columns, quoted
        f"INSERT INTO {quote(model._meta.db_table)} ({targets}) VALUES {', '.join([f'({row})'] * rows)} "  # noqa: S608
        f"ON CONFLICT DO NOTHING{returning}"
    )


@functools.lru_cache(maxsize=64)
def _insert_columns_sql(model: Any, names: tuple[str, ...], later: bool, using: str) -> str:
    quote = '"{}"'.format
    fields = [model._meta.get_field(name) for name in names]
    alike = _alike(model, born_claimed=False, step_names="")
    targets = [field.column for field in fields] + [model._meta.get_field(name).column for name in (*alike, *_NOW)]
    given = ", ".join(quote(field.column) for field in fields)
    same = [str(value) if isinstance(value, int) else f"'{value}'" for value in alike.values()]
    times = [now_sql("postgresql")] * 2 + [later_sql("postgresql") if later else now_sql("postgresql")]
    # A length is left to the column: a cast would cut the text.
    arrays = ", ".join(f"%s::{str(field.db_type(connections[using])).partition('(')[0]}[]" for field in fields)
    return (  # names of our own columns, quoted
        f"INSERT INTO {quote(model._meta.db_table)} ({', '.join(map(quote, targets))})"  # noqa: S608
        f" SELECT {', '.join([given, *same, *times])} FROM UNNEST({arrays}) AS given ({given})"
        f" ON CONFLICT DO NOTHING RETURNING {quote(model._meta.pk.column)}"
    )


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
