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

__all__ = ["insert", "insert_many"]

#: Columns the database fills in from its own clock.
_NOW = ("created_at", "updated_at", "due_at")


def insert(run: Any, using: str, *, lease: float | None) -> bool:
    """
    Insert a new run, due now. Return False, and change nothing, if its key or its place in flight is taken.

    Args:
        run: an unsaved run.
        using: the database alias; inside or outside a transaction.
        lease: seconds, for a run that is born claimed; None for one that waits for a claimer.

    The columns that the database fills in are read from the row when somebody asks for them.
    """
    connection = connections[using]
    model: Any = type(run)
    names: list[str] = []
    params: list[Any] = []
    for field in _plain_fields(model):
        value = field.pre_save(run, True)
        if isinstance(value, DatabaseDefault):
            continue
        names.append(field.name)
        params.append(field.get_db_prep_save(value, connection))
    if lease is not None:
        params.append(seconds_param(lease))
    with connection.cursor() as cursor:
        cursor.execute(_insert_sql(model, connection.vendor, tuple(names), lease is not None), params)
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
    fields = [f for f in _plain_fields(model) if not isinstance(f.pre_save(runs[0], True), DatabaseDefault)]
    params: list[Any] = []
    for run in runs:
        params += [field.get_db_prep_save(field.pre_save(run, True), connection) for field in fields]
        params.append(seconds_param(due_in))
    names = tuple(field.name for field in fields)
    with connection.cursor() as cursor:
        cursor.execute(_insert_many_sql(model, connection.vendor, names, len(runs)), params)
        if len(runs) == 1:
            made = {runs[0].pk} if cursor.rowcount == 1 else set()
        else:
            made = {model._meta.pk.to_python(row[0]) for row in cursor.fetchall()}
    for run in runs:
        run._state.db, run._state.adding = using, run.pk not in made
        for name in (*_NOW, "lease_expires_at"):
            run.__dict__.pop(name, None)
    return made


@functools.lru_cache(maxsize=64)
def _insert_many_sql(model: Any, vendor: str, names: tuple[str, ...], rows: int) -> str:
    quote = '"{}"'.format
    column = {field.name: quote(field.column) for field in model._meta.concrete_fields}
    targets = ", ".join(column[name] for name in (*names, "created_at", "updated_at", "due_at"))
    row = ", ".join([*["%s"] * len(names), now_sql(vendor), now_sql(vendor), later_sql(vendor)])
    returning = f" RETURNING {column['id']}" if rows > 1 else ""
    return (  # names of our own columns, quoted
        f"INSERT INTO {quote(model._meta.db_table)} ({targets}) VALUES {', '.join([f'({row})'] * rows)} "  # noqa: S608
        f"ON CONFLICT DO NOTHING{returning}"
    )


@functools.cache
def _plain_fields(model: Any) -> tuple[models.Field[Any, Any], ...]:
    by_the_database = {*_NOW, "lease_expires_at"}
    return tuple(
        field for field in model._meta.concrete_fields if not field.generated and field.name not in by_the_database
    )


@functools.lru_cache(maxsize=1024)
def _insert_sql(model: Any, vendor: str, names: tuple[str, ...], leased: bool) -> str:
    quote = '"{}"'.format
    column = {field.name: quote(field.column) for field in model._meta.concrete_fields}
    targets = [column[name] for name in (*names, *_NOW)]
    values = ["%s"] * len(names) + [now_sql(vendor)] * len(_NOW)
    if leased:
        targets.append(column["lease_expires_at"])
        values.append(later_sql(vendor))
    return (  # names of our own columns, quoted
        f"INSERT INTO {quote(model._meta.db_table)} ({', '.join(targets)}) VALUES ({', '.join(values)}) "  # noqa: S608
        "ON CONFLICT DO NOTHING"
    )
