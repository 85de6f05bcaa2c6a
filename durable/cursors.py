"""
Cursors: how an owner's statements reach the database.

Wherever somebody looks on (an execute wrapper, the query log) they go through Django's cursors, as a user's do. Elsewhere,
on an open connection to PostgreSQL, through one cursor of the driver that is kept beside it: a receipt is one short
statement, and to build Django's cursor around it takes as long as to send it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["number", "write"]


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
    if not _nobody_looks_on(connection):
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return int(cursor.rowcount)
    return int(_executed(connection, sql, params).rowcount)


def number(connection: Any, sql: str, params: Sequence[Any]) -> int:
    """Send one statement that answers with one number, and return it. Otherwise as `write`."""
    if not _nobody_looks_on(connection):
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return int(cursor.fetchone()[0])
    return int(_executed(connection, sql, params).fetchone()[0])


def _executed(connection: Any, sql: str, params: Sequence[Any]) -> Any:
    kept = connection.__dict__.get("_durable_cursor")
    with connection.wrap_database_errors:
        if kept is None or kept.connection is not connection.connection:
            kept = connection._durable_cursor = connection.connection.cursor()
        return kept.execute(sql, params)


def _nobody_looks_on(connection: Any) -> bool:
    """Return whether Django's cursor would add nothing: an open connection, sound and not watched."""
    return (
        connection.connection is not None
        and connection.vendor == "postgresql"
        and not connection.needs_rollback
        and not connection.execute_wrappers
        and not connection.queries_logged
        # Between transactions Django may have to look first whether the connection still works.
        and (connection.in_atomic_block or connection.health_check_done or not connection.health_check_enabled)
    )
