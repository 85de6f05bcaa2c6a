"""Statements: what this thread sends to the database, kept for tests about their text and their plans."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from django.db import connection

__all__ = ["nodes_of", "plan_of", "sent"]

Statement = tuple[str, Any]


@contextlib.contextmanager
def sent(table: str) -> Iterator[list[Statement]]:
    """Collect the statements on that table, with their parameters."""
    found: list[Statement] = []

    def around(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if f'"{table}"' in sql:
            found.append((" ".join(sql.split()), params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(around):
        yield found


def plan_of(statement: Statement) -> dict[str, Any]:
    """Return how the database would carry it out now."""
    sql, params = statement
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        told = cursor.fetchone()[0]
    return (told if isinstance(told, list) else json.loads(told))[0]["Plan"]


def nodes_of(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every node of a plan."""
    return [plan, *(node for part in plan.get("Plans", []) for node in nodes_of(part))]
