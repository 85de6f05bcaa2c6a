"""
Statements: what a save sends to PostgreSQL, parsed and planned once for a connection that saves often.

To parse and to plan the one statement of a save takes the server longer than to carry it out. So a connection that has
sent it a few times gives it a name (PREPARE), and sends the name and the values from then on (EXECUTE).

The name holds a digest of the text, so nobody can have put another statement under it. Where the server does not know
it (DISCARD ALL, a pooler that changes servers) nothing was done: the text is sent, and this connection prepares no more.
Nor does one whose server process is another than it was told: that is what a pooler looks like. Inside a transaction
only texts are sent: a name that is gone would take the caller's work with it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from django.db import DatabaseError

__all__ = ["AFTER", "Statement", "send"]

AFTER = 5  # as many times as psycopg waits before it prepares


class Statement:
    """One statement that changes rows, with values by name: `%(version)s`."""

    def __init__(self, text: str, types: Mapping[str, str]) -> None:
        body = f"({', '.join(types.values())}) AS {text % {name: f'${at}' for at, name in enumerate(types, 1)}}"
        name = f"documents_{hashlib.sha256(body.encode()).hexdigest()[:32]}"
        self.text = text
        self.prepare = f"PREPARE {name} {body}"
        self.execute = f"EXECUTE {name} ({', '.join(f'%({value})s' for value in types)})"


@dataclass(slots=True)
class _Sent:
    """What one connection of the driver has sent as text, how often, what it has names for, and whether it gives names."""

    times: dict[Statement, int] = field(default_factory=dict)
    known: set[Statement] = field(default_factory=set)
    names: bool = True


_sent: WeakKeyDictionary[Any, _Sent] = WeakKeyDictionary()


def send(connection: Any, statement: Statement, values: Mapping[str, Any]) -> int:
    """Send a statement; return how many rows it changed. Inside a transaction or outside; raise as the database does."""
    with connection.cursor() as cursor:
        if _is_prepared(connection, cursor, statement):
            try:
                cursor.execute(statement.execute, values)
                return int(cursor.rowcount)
            except DatabaseError as error:
                if _code(error) != "26000":
                    raise
                _sent[connection.connection].names = False
        cursor.execute(statement.text, values)
        return int(cursor.rowcount)


def _is_prepared(connection: Any, cursor: Any, statement: Statement) -> bool:
    if not connection.autocommit or connection.features.uses_server_side_binding:
        return False
    sent = _sent.setdefault(connection.connection, _Sent())
    if statement in sent.known or not sent.names:
        return sent.names
    sent.times[statement] = times = sent.times.get(statement, 0) + 1
    if times <= AFTER:
        return False
    sent.names = _prepare(connection, cursor, statement)
    sent.known.add(statement)
    return sent.names


def _prepare(connection: Any, cursor: Any, statement: Statement) -> bool:
    cursor.execute("SELECT pg_backend_pid()")
    if cursor.fetchone()[0] != connection.connection.info.backend_pid:
        return False
    try:
        cursor.execute(statement.prepare)
    except DatabaseError as error:  # 42P05: it is there from before, under the same digest
        return _code(error) == "42P05"
    return True


def _code(error: DatabaseError) -> str | None:
    cause = error.__cause__
    found: str | None = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    return found
