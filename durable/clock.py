"""
The database's clock, as SQL. The only clock a lease, a due time or a receipt is ever stamped with or compared to.

Statement time, never transaction-start time: a lease stamped late in a long transaction must not be born old.
"""

from __future__ import annotations

import functools
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Func, Value

__all__ = ["InSeconds", "later_sql", "now_sql", "read"]

_SQLITE = "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW'{})"


def now_sql(vendor: str) -> str:
    """Return the SQL of now, for a statement that is sent with parameters."""
    return _SQLITE.format("") if vendor == "sqlite" else "STATEMENT_TIMESTAMP()"


def later_sql(vendor: str) -> str:
    """Return the SQL of so many seconds from now; it takes one parameter, a number of seconds (may be negative)."""
    if vendor == "sqlite":
        return _SQLITE.format(", %s || ' seconds'")
    return "STATEMENT_TIMESTAMP() + %s * INTERVAL '1 second'"


@functools.lru_cache(maxsize=256)
def seconds_param(seconds: float) -> float:
    """Return seconds as a parameter for `later_sql`: milliseconds, and never in exponent form (SQLite reads text)."""
    return round(float(seconds), 3)


class InSeconds(Func):
    """So many seconds from now by the database's clock, for the ORM: `update(due_at=InSeconds(30))`."""

    output_field = DateTimeField()

    def __init__(self, seconds: float) -> None:
        super().__init__(Value(seconds_param(seconds)))

    def as_sql(  # type: ignore[override]
        self, compiler: Any, connection: BaseDatabaseWrapper, **extra: Any
    ) -> tuple[str, list[Any]]:
        return later_sql(connection.vendor), [self.get_source_expressions()[0].value]


def read(connection: BaseDatabaseWrapper) -> Any:
    """Return the database's time as an aware datetime. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {now_sql(connection.vendor)}", [])
        value = cursor.fetchone()[0]
    if isinstance(value, str):
        for convert in connection.ops.get_db_converters(Value(None, output_field=DateTimeField())):
            value = convert(value, None, connection)
    return value
