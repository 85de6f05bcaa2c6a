"""
Hands: threads that work on runs through their own connections and stop before every statement that others could notice.

A gate stands before each write to the watched table and each read that decides something (EXISTS), before COMMIT and
ROLLBACK, and before each call to the far side. Statements on other tables and savepoints are nobody's business until the
COMMIT, and reads that only refresh an instance change nothing: leaving them out loses no outcome.
"""

from __future__ import annotations

import contextlib
import threading
import zlib
from collections.abc import Callable
from typing import Any

import psycopg
from django.db import OperationalError, connections

from tests.gates import Abandoned, GatedThread

from .far_side import FAR_SIDE
from .oracle import Doer

__all__ = ["Hand"]


#: How the ORM asks whether a row exists.
_DECIDING = "SELECT 1 "


class Hand(GatedThread):
    """One thread that carries out what it is given, one gate at a time."""

    def __init__(self, number: int, table: str, arrived: threading.Semaphore) -> None:
        super().__init__(number, arrived)
        self._table = f'"{table}"'
        self._gated = False
        self._pid = 0
        self.rest()
        self.start()

    def rest(self) -> None:
        """Forget the last schedule."""
        self.forget()
        self.doer = Doer("")
        self.about = ""  # the same with its parameters, as far as they are the same in every run
        self.ready: Callable[[], bool] = bool  # where it waits: whether it may go on
        self.digest = 0  # of everything it has done and been answered
        self.error: BaseException | None = None
        self.lose_answers: set[int] = set()  # numbers of its COMMITs whose answer never arrives
        self._commits = 0

    # Used by the stage -------------------------------------------------------------------------------------------

    def local(self) -> tuple[Any, ...]:
        """Return all that decides what this hand does next."""
        return self.place, self.about, self.digest, self.blocked, self._commits if self.lose_answers else 0

    @property
    def pid(self) -> int:
        """The process id of its database session."""
        with contextlib.suppress(psycopg.Error, AttributeError):  # it may be closed, or just be opened again
            self._pid = self._connection.connection.info.backend_pid
        return self._pid

    # Used by the work it carries out -----------------------------------------------------------------------------

    def until(self, ready: Callable[[], bool]) -> None:
        """Wait for a fact that another hand brings about. Not a choice: it goes on as soon as it may."""
        self.ready = ready
        self._pause("waiting", "until")

    def gate(self, pending: str, about: str = "") -> None:
        """Wait until the stage lets this hand do what is pending."""
        self._pause("gate", pending, about)

    # Its own life ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        self._connection = connections["default"]
        self._connection.execute_wrappers.append(self._around)
        self._connection.commit = lambda: self._end_transaction("commit")
        self._connection.rollback = lambda: self._end_transaction("rollback")
        self._connection.ensure_connection()
        while self._ordered.acquire():
            work = self._orders.pop()
            if work is None:
                break
            try:
                self._gated = True
                work()
            except Abandoned:
                pass
            except BaseException as error:
                self.error = error
            finally:
                self._gated = False
                self.place = "idle"
                self.pending = self.about = ""
                self._arrived.release()
        connections.close_all()

    def _pause(self, place: str, pending: str, about: str = "") -> None:
        self.about = about or pending
        self.stop_at(place, pending)

    def _around(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        reads = sql.startswith("SELECT") and not sql.startswith(_DECIDING) and "FOR UPDATE" not in sql
        if not self._gated or self._table not in sql or reads:
            return execute(sql, params, many, context)
        known = [value for value in params or () if type(value) in (int, str, bool) and not _is_a_duration(value)]
        about = f"{' '.join(sql.split())} {known}"
        self._pause("gate", " ".join(sql.split())[:60], about)
        alone = not self._connection.in_atomic_block and not sql.lstrip().startswith("SELECT")
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
            self._note(about, answer)

    def _end_transaction(self, verb: str) -> None:
        really = getattr(type(self._connection), verb)
        if not self._gated:
            really(self._connection)
            return
        try:
            self._pause("gate", verb.upper())
        except Abandoned:
            type(self._connection).rollback(self._connection)
            raise
        if verb == "commit":
            self._commits += 1
        really(self._connection)
        self._note(verb, "")
        if verb == "commit" and self._commits in self.lose_answers:
            # The server has committed; its answer is lost with the connection.
            self._connection.connection.close()
            raise OperationalError("server closed the connection unexpectedly")

    def _note(self, what: str, answer: str) -> None:
        self.digest = zlib.crc32(f"{self.digest} {what} {answer}".encode())


def _is_a_duration(value: Any) -> bool:
    """Return whether it is a number of milliseconds, spelt as a setting: another one each time."""
    return isinstance(value, str) and value.isdigit()


def _at_the_far_side(step: str) -> None:
    hand = threading.current_thread()
    if isinstance(hand, Hand):
        hand.gate(f"call {step}")


FAR_SIDE.before_call = _at_the_far_side
