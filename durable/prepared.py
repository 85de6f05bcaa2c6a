"""
Prepared: statements that a connection to PostgreSQL sends again and again, parsed and planned once.

To plan a receipt takes the server longer than to carry it out. So a connection that has sent a statement a few times gives
it a name (PREPARE), and sends the name and the values from then on (EXECUTE): outside transactions, or as the first of one.

The name holds a digest of the text, so nobody can have put another statement under it. Where the server does not know
it (DISCARD ALL, a pooler that changes servers) nothing was done: the text is sent, and this connection prepares no more.
Nor does one whose server process is another than it was told: that is what a pooler looks like.

A plan stays as it was made, however large its tables become. So one that reads a whole table, as is right while that is
small, is not kept; and every plan is made anew after a minute, as the server may have changed it since.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from .opening import Opener

__all__ = ["NameForgotten", "Names"]

logger = logging.getLogger("durable")

_AFTER = 5  # as many times as psycopg waits before it prepares
_AGAIN = 200  # times after which one is looked at again whose plan was none to keep
_KEPT = 60.0  # seconds
_UNKNOWN, _THERE_ALREADY = "26000", "42P05"  # SQLSTATE of a name that the server does not have, and of one that it has


class NameForgotten(Exception):
    """The first statement of a transaction was sent by a name that the server does not know. Nothing was done."""


@dataclass(slots=True)
class _Named:
    """A statement that is sent often."""

    times: int = 0
    name: str = ""  # that is sent instead of it; empty: itself
    until: float = 0.0  # when that is decided anew, by this process's monotonic clock


@dataclass(slots=True)
class Names:
    """What one connection of the driver has names for."""

    gives: bool | None = None  # None: whether it talks to its own server process is not known yet
    _named: defaultdict[str, _Named] = field(default_factory=lambda: defaultdict(_Named))

    def execute(self, cursor: Any, sql: str, params: Sequence[Any]) -> Any:
        """
        Carry a statement out by its name, or as text, with the driver's cursor, as its own transaction.

        Args:
            cursor: the driver's.
            sql: with `%s` for each parameter.
            params: as the driver takes them.

        Returns:
            The cursor, with the statement's answer. Raises the driver's errors, as for the text.
        """
        name = self._name_of(cursor, sql, params, alone=True)
        return self._send(cursor.execute, cursor, name, sql, params, alone=True)

    def begin(self, opener: Opener, cursor: Any, sql: str, params: Sequence[Any]) -> int:
        """
        Do as `execute`, but with a statement that returns no rows, as the first of a transaction. Return the rows changed.

        Raises:
            NameForgotten: the server does not know the name, so the transaction is lost, in which nothing was done. Begun
                again, it goes as text.
        """
        name = self._name_of(cursor, sql, params, alone=False)
        if not opener.is_next():  # to give it a name has begun the transaction
            return int(self._send(cursor.execute, cursor, name, sql, params, alone=False).rowcount)
        return int(self._send(opener.send, cursor, name, sql, params, alone=False))

    def begin_after_commit(self, opener: Opener, cursor: Any, sql: str, params: Sequence[Any]) -> bool:
        """
        Commit, and begin the next transaction with that statement. See `Opener.send_after_commit`.

        Sends nothing, and returns False, where the statement is to be given a name: that is for `begin` to do.
        """
        named = self._named[sql]
        if self._is_due(named):
            return False
        named.times += 1
        return opener.send_after_commit(self._text(cursor, named, sql, params))

    def write_ahead(
        self, opener: Opener, cursor: Any, before: tuple[str, Sequence[Any]], statement: tuple[str, Sequence[Any]]
    ) -> tuple[bool | None, bool]:
        """
        Carry out one statement, and begin the next transaction with another. See `Opener.send_ahead`.

        Nothing is done, and None and False returned, where one of them is to be given a name, which it gets when it is sent
        by itself, or has lost it.
        """
        both = [(self._named[sql], sql, params) for sql, params in (before, statement)]
        if any(self._is_due(named) for named, _, _ in both):
            return None, False
        for named, _, _ in both:
            named.times += 1
        texts = [self._text(cursor, named, sql, params) for named, sql, params in both]
        try:
            return opener.send_ahead(*texts)
        except Exception as error:
            if not self.gives or getattr(error, "sqlstate", None) != _UNKNOWN:
                raise
            self.gives = False
            cursor.connection.rollback()
            return None, False

    def _text(self, cursor: Any, named: _Named, sql: str, params: Sequence[Any]) -> str:
        if named.name and self.gives:
            return _execute(cursor, named.name, params)
        return str(cursor.mogrify(sql, params))

    def _send(
        self, send: Callable[..., Any], cursor: Any, name: str, sql: str, params: Sequence[Any], *, alone: bool
    ) -> Any:
        if name and self.gives:
            try:
                return send(_execute(cursor, name, params))
            except Exception as error:
                if getattr(error, "sqlstate", None) != _UNKNOWN:
                    raise
                self.gives = False
                _begin_again(error, alone=alone)
        return send(sql, params)

    def _name_of(self, cursor: Any, sql: str, params: Sequence[Any], *, alone: bool) -> str:
        """Return the name to send instead of the statement; empty: itself. One that is sent often gets one first."""
        named = self._named[sql]
        due = self._is_due(named)
        named.times += 1
        if due:
            self._prepare(cursor, named, sql, params, alone=alone)
        return named.name

    def _is_due(self, named: _Named) -> bool:
        return named.times >= _AFTER and self.gives is not False and time.monotonic() >= named.until

    def _prepare(self, cursor: Any, named: _Named, sql: str, params: Sequence[Any], *, alone: bool) -> None:
        """Give the statement a name, if its plan is one to keep. Whatever goes wrong with that, the text is left."""
        named.until = time.monotonic() + _KEPT
        name = f"durable_{hashlib.sha256(sql.encode()).hexdigest()[:32]}"
        try:
            if self.gives is None:
                cursor.execute("SELECT pg_backend_pid()")
                self.gives = cursor.fetchone()[0] == cursor.connection.info.backend_pid
            if self.gives:
                if named.name:
                    named.name = ""
                    cursor.execute(f"DEALLOCATE {name}")
                _make(cursor, f"PREPARE {name} AS {_numbered(sql)}")
                cursor.execute(f"EXPLAIN {_execute(cursor, name, params)}")
                if any("Seq Scan" in line for (line,) in cursor.fetchall()):
                    cursor.execute(f"DEALLOCATE {name}")
                    named.times, named.until = _AFTER - _AGAIN, 0.0
                else:
                    named.name = name
        except cursor.connection.Error as error:
            logger.info("nothing is prepared on this connection any more error=%s", str(error).partition("\n")[0])
            self.gives = False
            _begin_again(error, alone=alone)


def _begin_again(error: Exception, *, alone: bool) -> None:
    if not alone:
        message = "the server does not keep a statement's name; its transaction must be begun again"
        raise NameForgotten(message) from error


def _make(cursor: Any, prepare: str) -> None:
    try:
        cursor.execute(prepare)
    except cursor.connection.Error as error:
        if error.sqlstate != _THERE_ALREADY:
            raise


def _execute(cursor: Any, name: str, params: Sequence[Any]) -> str:
    return f"EXECUTE {name} ({', '.join([_literal(cursor, value) for value in params])})"


def _literal(cursor: Any, value: Any) -> str:
    """
    Return a value as SQL. What owners write is numbers, ids and words without a quote, which need no escape.

    The driver, which writes the rest, takes a quarter of a receipt's time for them.
    """
    kind = type(value)
    if kind is int or (kind is float and math.isfinite(value)):
        return repr(value)
    if kind is UUID:
        return f"'{value.hex}'"
    if kind is str and value.isascii() and "'" not in value and "\\" not in value and "\0" not in value:
        return f"'{value}'"
    from psycopg.sql import Literal

    return Literal(value).as_string(cursor)


def _numbered(sql: str) -> str:
    """Return the text with `$1` for the first `%s`, and so on."""
    first, *others = sql.split("%s")
    return (first + "".join(f"${number}{other}" for number, other in enumerate(others, 1))).replace("%%", "%")
