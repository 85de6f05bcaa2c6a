"""
Cursors: how an owner's statements reach the database.

Wherever somebody looks on (an execute wrapper, the query log) they go through Django's cursors, as a user's do. Elsewhere,
inside a transaction on PostgreSQL, through one cursor of the driver that is kept beside the connection: a receipt is one
short statement, and to build Django's cursor around it takes as long as to send it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["write"]


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
    kept = connection.__dict__.get("_durable_cursor")
    with connection.wrap_database_errors:
        if kept is None or kept.connection is not connection.connection:
            kept = connection._durable_cursor = connection.connection.cursor()
        kept.execute(sql, params)
    return int(kept.rowcount)


def _nobody_looks_on(connection: Any) -> bool:
    """Return whether Django's cursor would add nothing: a sound open transaction that is not watched."""
    return (
        connection.in_atomic_block
        and not connection.needs_rollback
        and not connection.execute_wrappers
        and not connection.queries_logged
        and connection.vendor == "postgresql"
        and connection.connection is not None
    )
