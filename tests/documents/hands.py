"""
Hands: threads that write through their own connections and stop before every statement that others could notice.

On PostgreSQL a gate stands before each statement on the tables of documents and before each COMMIT and ROLLBACK. SQLite
lets one writer in at a time, so there a whole transaction is one step: the gate stands before its BEGIN, and before each
statement outside of one.
"""

import contextlib
import threading
import zlib

from django.db import connections

from tests.gates import Abandoned, GatedThread

__all__ = ["Hand"]

OURS = ("documents_document", "documents_revision", "documents_conflict", "EXECUTE documents_")


class Hand(GatedThread):
    """One thread that carries out what it is given, one gate at a time."""

    def __init__(self, number: int, arrived: threading.Semaphore) -> None:
        super().__init__(number, arrived)
        self.pid = 0
        self.rest("")
        self.start()

    def rest(self, writer: str) -> None:
        """Forget the last schedule, and be that writer in the next."""
        self.forget()
        self.writer = writer
        self.past = 0  # digest of everything it did, and of what it did it on
        self.did: list[str] = []  # since the stage last looked
        self.result: object = None
        self._inside = False  # SQLite: its transaction goes on

    def remember(self, *what: object) -> None:
        """Add to its past."""
        self.past = zlib.crc32(repr((self.past, *what)).encode())

    # Its own life ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        self._connection = connections["default"]
        self._connection.ensure_connection()
        self._postgres = self._connection.vendor == "postgresql"
        if self._postgres:
            self.pid = self._connection.connection.info.backend_pid
        self._connection.execute_wrappers.append(self._around)
        self._connection.commit = lambda: self._end("commit")
        self._connection.rollback = lambda: self._end("rollback")
        while self._ordered.acquire():
            work = self._orders.pop()
            if work is None:
                break
            try:
                self.result = work()
            except Abandoned:
                pass
            except Exception as error:
                self.result = error
            finally:
                self.place, self.pending = "idle", ""
                self._arrived.release()
        connections.close_all()

    def _around(self, execute, sql, params, many, context):
        if not self._is_noticed(sql):
            return execute(sql, params, many, context)
        # Sent as text or, on a connection that has saved often, by its name: the same step.
        words = " ".join(sql.split())
        self.stop_at("gate", "swap" if words.startswith(("WITH head", "EXECUTE")) else words[:40])
        self._inside = sql.startswith("BEGIN")
        alone = self._postgres and not self._connection.in_atomic_block and not sql.lstrip().startswith("SELECT")
        answer = "nothing"
        try:
            with self.seen_before_it_commits(self._connection.connection) if alone else contextlib.nullcontext():
                result = execute(sql, params, many, context)
            answer = str(context["cursor"].rowcount)
            return result
        except Exception as error:
            answer = type(error).__name__
            raise
        finally:
            self.did.append(answer)

    def _is_noticed(self, sql: str) -> bool:
        if not self._postgres and sql.startswith("BEGIN"):
            return True
        return not self._inside and not sql.startswith("PREPARE") and any(name in sql for name in OURS)

    def _end(self, verb: str) -> None:
        if self._postgres:
            try:
                self.stop_at("gate", verb.upper())
            except Abandoned:
                type(self._connection).rollback(self._connection)
                raise
        self._inside = False
        getattr(type(self._connection), verb)(self._connection)
        self.did.append(verb)
