"""
Opening: the first statement of a transaction in one message with what comes before it, to PostgreSQL.

Nothing can be done between BEGIN and the first statement, so to wait for the answer to BEGIN is to wait for nothing. The
driver sends BEGIN by itself before the first statement; where the transaction is begun already, it sends none. So all that
differs is who begins it. Where one transaction follows another, the COMMIT of the first is sent along, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Opener"]

_IDLE = 0  # libpq's PQTRANS_IDLE: the transaction is not begun yet
_DONE = 1  # libpq's PGRES_COMMAND_OK


class Opener:
    """
    Begins transactions on one connection of the driver.

    Args:
        cursor: the driver's, of that connection, and one that writes values into the text: a message of two statements takes
            no others.
    """

    __slots__ = ("_answers_of", "_connection", "_cursor")

    def __init__(self, cursor: Any) -> None:
        from psycopg import generators  # a project on SQLite has no driver of PostgreSQL

        self._connection, self._cursor = cursor.connection, cursor
        self._answers_of = generators.execute

    def is_next(self) -> bool:
        """Return whether the next statement begins a transaction, and a plain one: no other isolation, not read-only."""
        raw = self._connection
        return bool(
            raw.pgconn.transaction_status == _IDLE
            and not raw.autocommit
            and raw.isolation_level is None
            and raw.read_only is None
            and raw.deferrable is None
        )

    def send(self, sql: str, params: Sequence[Any] | None = None) -> int:
        """
        Begin a transaction with that statement, which returns no rows. Call it where `is_next`.

        Returns:
            How many rows it changed.

        Raises:
            psycopg.Error: what the driver's cursor would raise. The transaction is begun, and broken.
        """
        text = sql if params is None else self._cursor.mogrify(sql, params)
        return _changed(self._answers(f"BEGIN; {text}")[-1], self._connection)

    def send_after_commit(self, sql: str) -> bool:
        """
        Commit the open transaction, and begin the next, of the same kind, with that statement.

        Returns:
            Whether it is begun and the statement changed one row. Otherwise the first transaction is committed and the
            connection is idle.

        Raises:
            psycopg.Error: the transaction was not committed; or the connection is lost, and nobody knows.
        """
        return self._is_begun(self._answers(f"COMMIT AND CHAIN; {sql}"))

    def send_ahead(self, before: str, sql: str) -> tuple[bool, bool]:
        """
        Carry out a statement as its own transaction, and begin the next one with another. Call it where `is_next`.

        Returns:
            Whether the first changed a row; and whether the next transaction is begun, as from `send_after_commit`.

        Raises:
            psycopg.Error: the first was not carried out, and its transaction is broken; or the connection is lost.
        """
        begun, *others = self._answers(f"BEGIN; {before}; COMMIT AND CHAIN; {sql}")
        _changed(begun, self._connection)
        written, *others = others
        return _changed(written, self._connection) > 0, self._is_begun(others)

    def _is_begun(self, answers: list[Any]) -> bool:
        raw, (commit, *others) = self._connection, answers
        _changed(commit, raw)
        if commit.command_status != b"COMMIT":
            message = f"the server answered a COMMIT with {commit.command_status!r}"
            raise raw.OperationalError(message)
        if others and others[-1].status == _DONE and others[-1].command_tuples == 1:
            return True
        raw.rollback()
        return False

    def _answers(self, message: str) -> list[Any]:
        raw = self._connection
        # Every encoding that a client may have is ASCII where the text is; to ask which one it is takes longer.
        data = message.encode() if message.isascii() else message.encode(raw.info.encoding)
        with raw.lock:
            raw.pgconn.send_query(data)
            answers: list[Any] = raw.wait(self._answers_of(raw.pgconn))
        return answers


def _changed(answer: Any, raw: Any) -> int:
    if answer.status != _DONE:
        from psycopg.errors import error_from_result

        raise error_from_result(answer, encoding=raw.info.encoding)
    return int(answer.command_tuples or 0)
