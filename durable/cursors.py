"""
Cursors: how an owner's statements reach the database.

Wherever somebody looks on (an execute wrapper, the query log) they go through Django's cursors, as a user's do. Elsewhere,
on an open connection to PostgreSQL, through one cursor of the driver that is kept beside it: a receipt is one short
statement, and to build Django's cursor around it takes as long as to send it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["nobody_looks_on", "numbers", "rows", "write"]


def write(connection: Any, sql: str, params: Sequence[Any]) -> int:
    """
    Send one statement that changes rows and returns none.

    Args:
        connection: this thread's Django connection; inside or outside a transaction.
        sql: with `%s` for each parameter.
        params: as the driver takes them.

    Returns:
        How many rows it changed.

    Raises:
        django.db.Error: what Django's own cursor would raise, and with the same effect on the connection.
    """
    if not nobody_looks_on(connection):
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return int(cursor.rowcount)
    return int(_executed(connection, sql, params).rowcount)


def numbers(connection: Any, sql: str, params: Sequence[Any]) -> tuple[int, ...]:
    """Send one statement that answers with one row of numbers, and return them. Otherwise as `write`."""
    (row,) = rows(connection, sql, params)
    return tuple(row)


def rows(connection: Any, sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Send one statement, and return the rows that it answers with, as the driver reads them. Otherwise as `write`."""
    if not nobody_looks_on(connection):
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return list(cursor.fetchall())
    return list(_executed(connection, sql, params).fetchall())


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


def _executed(connection: Any, sql: str, params: Sequence[Any]) -> Any:
    kept = connection.__dict__.get("_durable_cursor")
    with connection.wrap_database_errors:
        if kept is None or kept.connection is not connection.connection:
            kept = connection._durable_cursor = connection.connection.cursor()
        return kept.execute(sql, params)
