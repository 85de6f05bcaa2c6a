"""
Cursors: how an owner's statements reach the database.

Wherever somebody looks on (an execute wrapper, the query log) they go through Django's cursors, as a user's do. Elsewhere,
on an open connection to PostgreSQL, through one cursor of the driver that is kept beside it: a receipt is one short
statement, and to build Django's cursor around it takes as long as to send it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .opening import Opener
from .prepared import Names

__all__ = ["array_of", "as_array", "chain", "copying", "nobody_looks_on", "rows", "write", "write_ahead"]

_TIMESTAMPTZ = 1184  # the type's number in every PostgreSQL


def write(connection: Any, sql: str, params: Sequence[Any], *, often: bool = False, begins: bool = False) -> int:
    """
    Send one statement that changes rows and returns none.

    Args:
        connection: this thread's Django connection; inside or outside a transaction.
        sql: with `%s` for each parameter.
        params: as the driver takes them.
        often: it is worth being planned once for all, as it finds its rows by their keys.
        begins: it may be the first of its transaction: then it is sent together with BEGIN.

    Returns:
        How many rows it changed.

    Raises:
        NameForgotten: only with `begins`. Nothing was done in the transaction, which must be begun again.
        django.db.Error: what Django's own cursor would raise, and with the same effect on the connection.
    """
    if not nobody_looks_on(connection):
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return int(cursor.rowcount)
    if begins:
        with connection.wrap_database_errors:
            kept = _kept(connection)
            if kept.opener.is_next():
                return kept.names.begin(kept.opener, kept.merging, sql, params)
    return int(_executed(connection, sql, params, often=often).rowcount)


def chain(connection: Any, sql: str, params: Sequence[Any]) -> bool:
    """
    Commit the open transaction and begin the next with that statement, in one message. Call it where nobody looks on.

    Returns:
        Whether the next is begun, its statement having changed one row. Otherwise it is not, and whether the first was
        committed the connection tells: it is idle then.

    Raises:
        django.db.Error: it was not committed; or the connection is lost, and whether it was is not known.
    """
    with connection.wrap_database_errors:
        kept = _kept(connection)
        return kept.names.begin_after_commit(kept.opener, kept.merging, sql, params)


def write_ahead(
    connection: Any, before: tuple[str, Sequence[Any]], statement: tuple[str, Sequence[Any]]
) -> tuple[bool | None, bool]:
    """
    Carry out one statement as its own transaction, and begin the next with another, in one message.

    Call it where nobody looks on, where Django's connection is in a transaction that the driver has not begun.

    Args:
        connection: this thread's.
        before: the SQL and the parameters of the one.
        statement: likewise of the other.

    Returns:
        Whether the first wrote anything, and whether the next transaction is begun. None and False: nothing was done, as one
        of them is to be given a name first.

    Raises:
        django.db.Error: the first was not carried out; or the connection is lost, and whether it was is not known.
    """
    with connection.wrap_database_errors:
        kept = _kept(connection)
        if not kept.opener.is_next():
            return None, False
        return kept.names.write_ahead(kept.opener, kept.merging, before, statement)


def rows(connection: Any, sql: str, params: Sequence[Any], *, often: bool = False) -> list[tuple[Any, ...]]:
    """Send one statement, and return the rows that it answers with, as Django's cursor reads them. Otherwise as `write`."""
    if not nobody_looks_on(connection):
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return list(cursor.fetchall())
    return list(_executed(connection, sql, params, often=often).fetchall())


@contextlib.contextmanager
def copying(connection: Any, sql: str) -> Iterator[Any]:
    """Open a COPY FROM STDIN where nobody looks on; `write` its lines to what the context gives. Raises as `write`."""
    with connection.wrap_database_errors, _kept(connection).cursor.copy(sql) as door:
        yield door


def as_array(values: Iterable[Any]) -> str:
    """Return texts, numbers or ids as PostgreSQL writes an array of them: the driver takes each value apart first."""
    return "{" + ",".join([f'"{value}"' if type(value) is not str else _quoted(value) for value in values]) + "}"


def array_of(field: Any, connection: Any) -> str:
    """Return the type of such an array of a column's values. A length is left to the column: a cast would cut the text."""
    return f"{str(field.db_type(connection)).partition('(')[0]}[]"


def nobody_looks_on(connection: Any) -> bool:
    """Return whether Django's cursor would add nothing: an open connection to PostgreSQL, sound and not watched."""
    return (
        connection.connection is not None
        and connection.vendor == "postgresql"
        and not connection.needs_rollback
        and not connection.execute_wrappers
        and not connection.queries_logged
        # Between transactions Django may have to look first whether the connection still works.
        and (connection.in_atomic_block or connection.health_check_done or not connection.health_check_enabled)
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is kept beside a connection."""

    cursor: Any  # the driver's
    merging: Any  # one that writes the values into the text: EXECUTE and EXPLAIN take no others
    timezone: Any  # the one that it reads times in
    names: Names
    opener: Opener


def _executed(connection: Any, sql: str, params: Sequence[Any], *, often: bool) -> Any:
    with connection.wrap_database_errors:
        kept = _kept(connection)
        # In a transaction a name that is gone would take the caller's work with it.
        if often and connection.autocommit:
            return kept.names.execute(kept.merging, sql, params)
        return kept.cursor.execute(sql, params)


def _kept(connection: Any) -> _Kept:
    """Return what is kept beside the connection, made anew where that, or its time zone, is another."""
    kept: _Kept | None = getattr(connection, "_durable_cursor", None)
    if kept is None or kept.cursor.connection is not connection.connection or kept.timezone is not connection.timezone:
        cursor = merging = connection.create_cursor()
        if connection.features.uses_server_side_binding:
            merging = connection.Database.ClientCursor(connection.connection)
        for one in {cursor, merging}:
            _read_times_quickly(one)
        opener = Opener(merging)
        kept = connection._durable_cursor = _Kept(cursor, merging, connection.timezone, Names(), opener)
    return kept


def _read_times_quickly(cursor: Any) -> None:
    """Let the interpreter's own parser read times of UTC: Django's loader takes the driver's slow one."""
    usual = cursor.adapters.get_loader(_TIMESTAMPTZ, cursor.format)
    if getattr(usual, "timezone", None) is UTC:
        cursor.adapters.register_loader(_TIMESTAMPTZ, _quick(usual))


@functools.cache
def _quick(usual: Any) -> Any:
    class Quick(usual):  # type: ignore[misc]
        def load(self, data: Any) -> Any:
            try:
                time = datetime.fromisoformat(str(data, "ascii"))
            except ValueError:
                return super().load(data)
            return time if time.tzinfo is UTC else super().load(data)

    return Quick
