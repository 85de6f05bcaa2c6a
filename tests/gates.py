"""
Gates: threads that stop before every statement others could notice, and a stage that lets one of them through at a time.

What a suite watches, and what it judges, is its own. Whether a hand waits for a row lock is a fact read from
pg_stat_activity, never guessed from time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.db import connection

__all__ = ["Abandoned", "GatedThread", "give_up", "settle", "tell"]

_BLOCKED = (
    "SELECT pid FROM pg_stat_activity WHERE pid = ANY(%s)"
    " AND wait_event_type = 'Lock' AND cardinality(pg_blocking_pids(pid)) > 0"
)


class Abandoned(BaseException):
    """The schedule was given up; unwind, and touch nothing any more."""


class GatedThread(threading.Thread):
    """One thread that carries out what it is given, one gate at a time."""

    pid: Any  # the process id of its database session

    def __init__(self, number: int, arrived: threading.Semaphore) -> None:
        super().__init__(name=f"hand {number}", daemon=True)
        self._arrived = arrived
        self._orders: list[Callable[[], Any] | None] = []
        self._ordered, self._go = threading.Semaphore(0), threading.Semaphore(0)

    def forget(self) -> None:
        """Forget the last schedule."""
        self.place = "idle"  # idle, running, gate, waiting
        self.pending = ""  # what it does when it may go on
        self.blocked = False  # the database makes it wait, as seen in pg_stat_activity
        self.was_blocked = False  # since its last statement began
        self.abandoned = False

    # Used by the stage -------------------------------------------------------------------------------------------

    def order(self, work: Callable[[], Any]) -> None:
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

    # Its own life ------------------------------------------------------------------------------------------------

    def stop_at(self, place: str, pending: str) -> None:
        """Stand there until the stage lets it go on."""
        if self.abandoned:
            raise Abandoned
        self.pending, self.place = pending, place
        self._arrived.release()
        self._go.acquire()
        if self.abandoned:
            raise Abandoned

    @contextlib.contextmanager
    def seen_before_it_commits(self, raw: Any) -> Iterator[None]:
        """Spell out the transaction of a lone statement: one that was blocked must not commit in another hand's step."""
        self.was_blocked = False
        raw.execute("BEGIN")
        try:
            yield
            if self.was_blocked:
                self.stop_at("gate", "COMMIT of the statement")
            raw.execute("COMMIT")
        except BaseException:
            if not raw.closed:
                raw.execute("ROLLBACK")
            raise


def settle(hands: Sequence[GatedThread], arrived: threading.Semaphore) -> int:
    """Wait until every hand is at a gate, idle, waiting, or blocked by the database. Return how many began to be blocked."""
    waits = 0
    while True:
        moving = [hand for hand in hands if hand.place == "running"]
        for hand in hands:
            hand.blocked &= hand in moving
        if not moving:
            return waits
        known = all(hand.blocked for hand in moving)
        if arrived.acquire(timeout=0.0003 if known else 0.002) or connection.vendor != "postgresql":
            continue
        asked = {hand.pid: hand for hand in moving}
        with connection.cursor() as cursor:
            cursor.execute(_BLOCKED, [list(asked)])
            blocked = {row[0] for row in cursor.fetchall()}
        for pid, hand in asked.items():
            now = pid in blocked and hand.place == "running"
            waits += now and not hand.blocked
            hand.blocked = now
            hand.was_blocked |= now
        if all(hand.blocked and hand.place == "running" for hand in moving):
            return waits


def give_up(hands: Sequence[GatedThread], arrived: threading.Semaphore) -> None:
    """Let every hand unwind, and wait until all of them are idle."""
    for hand in hands:
        hand.abandoned = True
    while any(hand.place != "idle" for hand in hands):
        for hand in hands:
            if hand.place in ("gate", "waiting"):
                hand.go_on()
        arrived.acquire(timeout=0.01)


def tell(terminalreporter: Any, title: str, explored: Sequence[tuple[str, Any]]) -> None:
    """Say in the summary of the test run what was explored."""
    if not explored:
        return
    terminalreporter.section(title)
    for name, found in explored:
        terminalreporter.write_line(f"{name}: {found}")
    total = [sum(getattr(found, part) for _, found in explored) for part in ("schedules", "states", "waits", "seconds")]
    terminalreporter.write_line("all: {} schedules, {} states, {} lock waits in {:.1f} s".format(*total))
