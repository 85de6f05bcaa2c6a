"""
Hands: threads that write through their own connections and stop before every statement that others could notice.

On PostgreSQL a gate stands before each statement on the tables of documents and before each COMMIT and ROLLBACK. SQLite
lets one writer in at a time, so there a whole transaction is one step: the gate stands before its BEGIN, and before each
statement outside of one.
"""

import contextlib
import threading
import zlib
from collections.abc import Callable, Iterator

from django.db import connections

__all__ = ["Hand"]

OURS = ("documents_document", "documents_revision", "documents_conflict", "EXECUTE documents_")


class Abandoned(BaseException):
    """The schedule was given up; unwind, and touch nothing any more."""


class Hand(threading.Thread):
    """One thread that carries out what it is given, one gate at a time."""

    def __init__(self, number: int, arrived: threading.Semaphore) -> None:
        super().__init__(name=f"hand {number}", daemon=True)
        self._arrived = arrived
        self._orders: list[Callable[[], object] | None] = []
        self._ordered, self._go = threading.Semaphore(0), threading.Semaphore(0)
        self.pid = 0
        self.rest("")
        self.start()

    def rest(self, writer: str) -> None:
        """Forget the last schedule, and be that writer in the next."""
        self.writer = writer
        self.place = "idle"  # idle, running, gate
        self.pending = ""  # what it does when it may go on
        self.past = 0  # digest of everything it did, and of what it did it on
        self.did: list[str] = []  # since the stage last looked
        self.blocked = False  # the database makes it wait, as seen in pg_stat_activity
        self.was_blocked = False  # since its last statement began
        self.abandoned = False
        self.result: object = None
        self._inside = False  # SQLite: its transaction goes on

    # Used by the stage -------------------------------------------------------------------------------------------

    def order(self, work: Callable[[], object]) -> None:
        """Begin that work; it runs to its first gate."""
        self.place = "running"
        self._orders.append(work)
        self._ordered.release()

    def go_on(self) -> None:
        """Let it through the gate."""
        self.place = "running"
        self._go.release()

    def leave(self) -> None:
        """End the thread and its connection."""
        self._orders.append(None)
        self._ordered.release()
        self.join(timeout=10)

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

    def _gate(self, pending: str) -> None:
        if self.abandoned:
            raise Abandoned
        self.pending, self.place = pending, "gate"
        self._arrived.release()
        self._go.acquire()
        if self.abandoned:
            raise Abandoned

    def _around(self, execute, sql, params, many, context):
        if not self._is_noticed(sql):
            return execute(sql, params, many, context)
        # Sent as text or, on a connection that has saved often, by its name: the same step.
        words = " ".join(sql.split())
        self._gate("swap" if words.startswith(("WITH head", "EXECUTE")) else words[:40])
        self._inside = sql.startswith("BEGIN")
        alone = self._postgres and not self._connection.in_atomic_block and not sql.lstrip().startswith("SELECT")
        answer = "nothing"
        try:
            with self._seen_before_it_commits() if alone else contextlib.nullcontext():
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

    @contextlib.contextmanager
    def _seen_before_it_commits(self) -> Iterator[None]:
        """Spell out the transaction of a lone statement: one that was blocked must not commit in another hand's step."""
        raw = self._connection.connection
        self.was_blocked = False
        raw.execute("BEGIN")
        try:
            yield
            if self.was_blocked:
                self._gate("COMMIT of the statement")
            raw.execute("COMMIT")
        except BaseException:
            raw.execute("ROLLBACK")
            raise

    def _end(self, verb: str) -> None:
        if self._postgres:
            try:
                self._gate(verb.upper())
            except Abandoned:
                type(self._connection).rollback(self._connection)
                raise
        self._inside = False
        getattr(type(self._connection), verb)(self._connection)
        self.did.append(verb)
