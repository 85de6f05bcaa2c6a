"""
Heartbeat: one thread per process that renews the leases the process holds.

At a third of the lease, and never past the deadline of a running step: a hung step becomes claimable. A claim that was
taken with others and still waits for its turn by then is given back. Quick runs see nothing of this.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator

from django.db import connections

from .contract import Claim
from .patience import limit_connection, patience

__all__ = ["Heartbeat", "hold", "let_go", "pass_on"]

logger = logging.getLogger("durable")

#: A lease of L seconds is renewed every L / 3: two renewals may fail before it lapses.
_BEATS_PER_LEASE = 3
_LINGER = 5.0  # seconds the thread stays when nothing is held


class Heartbeat:
    """The claims a process holds, and the thread that keeps them."""

    def __init__(self) -> None:
        self._held: dict[Claim, float] = {}  # claim → when its lease is renewed next, monotonic
        self._waiting: dict[Claim, Callable[[Claim], None]] = {}  # of these: those not begun → what gives one back
        self._lock = threading.RLock()
        self._wake = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._limited: set[str] = set()  # aliases whose connection of that thread has its limits
        self._idle = False
        self._open = False  # that thread has a connection

    def hold(self, *claims: Claim, give_back: Callable[[Claim], None] | None = None) -> None:
        """Renew those claims' leases from now on; with `give_back`, call that with one instead when it would be time to."""
        now = time.monotonic()
        with self._lock:
            for claim in claims:
                self._waiting.pop(claim, None)
                if give_back is not None:
                    self._waiting[claim] = give_back
                self._held[claim] = now + claim.lease / _BEATS_PER_LEASE
            if self._thread is None:
                self._limited = set()
                thread = threading.Thread(target=self._beat, name="durable-heartbeat", daemon=True)
                thread.start()  # it may refuse, and then the next claim tries again
                self._thread = thread
            elif self._idle:
                self._wake.notify()

    def keeps(self, claim: Claim) -> bool:
        """Return whether that claim's lease is renewed already."""
        return claim in self._held and claim not in self._waiting

    def let_go(self, *claims: Claim) -> None:
        """Stop renewing them."""
        with self._lock:
            for claim in claims:
                self._held.pop(claim, None)
                self._waiting.pop(claim, None)

    def rest(self) -> None:
        """
        Wait until the thread has closed the connection it no longer needs; a second at most, and not while a claim is held.

        SQLite takes a child forked before that for the same process, and lets the parent remove what the child writes to.
        """
        with self._wake:
            if self._open and not self._held and self._thread is not threading.current_thread():
                self._wake.notify_all()
                self._wake.wait_for(lambda: not self._open or bool(self._held), timeout=1.0)

    def _close(self) -> None:
        connections.close_all()
        with self._wake:
            if self._thread in (None, threading.current_thread()):
                self._open = False
                self._wake.notify_all()

    def _beat(self) -> None:
        try:
            while self._sleep_until_needed():
                for claim in self._due():
                    self._renew(claim)
        finally:
            self._close()
            with self._wake:
                if self._thread is threading.current_thread():
                    self._thread = None  # whatever ended it, the next claim gets another

    def _sleep_until_needed(self) -> bool:
        """Wait until a claim needs something. Return False when nothing has been held for a while: the thread ends."""
        if not self._held:
            self._close()  # idle, it must not be what keeps a database from being dropped
        with self._wake:
            self._idle = not self._held
            if self._idle and not self._wake.wait_for(lambda: bool(self._held), timeout=_LINGER):
                self._thread = None
                return False
            self._idle = False
            soonest = min(self._next(claim, beat) for claim, beat in self._held.items()) if self._held else 0
            # Short naps instead of one long one: a step may set its deadline at any moment without telling us.
            self._wake.wait(timeout=max(0.0, min(soonest - time.monotonic(), 0.5)))
            return True

    def _due(self) -> list[Claim]:
        now = time.monotonic()
        with self._wake:
            due = [claim for claim, beat in self._held.items() if self._next(claim, beat) <= now]
            self._open = self._open or bool(due)  # it is about to be, and one of them may be let go meanwhile
            return due

    @staticmethod
    def _next(claim: Claim, beat: float) -> float:
        deadline = claim.deadline
        return beat if deadline is None or claim.timed_out else min(beat, deadline)

    def _renew(self, claim: Claim) -> None:
        now, deadline, give_back = time.monotonic(), claim.deadline, self._waiting.get(claim)
        if give_back is not None:
            self._return(claim, give_back)
            return
        if deadline is not None and now >= deadline and not claim.timed_out:
            self._time_out(claim)
            return
        pause = claim.lease / _BEATS_PER_LEASE
        try:
            if not claim.timed_out and not self._renewed(claim):
                claim.lost = True
                self.let_go(claim)
                logger.info("lease lost kind=%s pk=%s fence=%s", claim.model._meta.label, claim.pk, claim.fence)
        except Exception:
            logger.warning("heartbeat failed kind=%s pk=%s", claim.model._meta.label, claim.pk, exc_info=True)
            connections[claim.alias].close()
            pause = min(pause, 1.0)
        with self._wake:
            if claim in self._held:
                self._held[claim] = time.monotonic() + pause

    @contextlib.contextmanager
    def _patient(self, claim: Claim) -> Iterator[None]:
        # A write that waited for a silent database would keep this thread from all the other claims.
        if claim.alias not in self._limited:
            self._limited.add(claim.alias)
            limit_connection(claim.alias, claim.lease)
        with patience(claim.alias, claim.lease / _BEATS_PER_LEASE):
            yield

    def _renewed(self, claim: Claim) -> bool:
        with self._patient(claim):
            return claim.renew()

    def _return(self, claim: Claim, give_back: Callable[[Claim], None]) -> None:
        # Renewed instead, it would be kept for as long as the run before it hangs.
        claim.lost = True
        self.let_go(claim)
        try:
            with self._patient(claim):
                give_back(claim)
        except Exception:
            logger.warning("not given back kind=%s pk=%s", claim.model._meta.label, claim.pk, exc_info=True)
            connections[claim.alias].close()

    def _time_out(self, claim: Claim) -> None:
        claim.timed_out = True
        logger.warning("step timed out kind=%s pk=%s fence=%s", claim.model._meta.label, claim.pk, claim.fence)
        cut = claim.cut_off
        if cut is not None:
            cut()


_process = Heartbeat()


def hold(*claims: Claim, give_back: Callable[[Claim], None] | None = None) -> None:
    """Keep the leases of claims of one alias while their runs are carried out; with `give_back`: while they soon will be."""
    if not claims or (len(claims) == 1 and give_back is None and _process.keeps(claims[0])):
        return
    # Our own connection cannot see a run of a test case's transaction. One that is begun ahead is committed.
    blocks = connections[claims[0].alias].atomic_blocks
    if not blocks or not blocks[0]._from_testcase:  # type: ignore[attr-defined]
        _process.hold(*claims, give_back=give_back)


def pass_on(claim: Claim, to: Claim) -> None:
    """Keep the lease of another claim as well, where that of the first is kept: its run is carried out next."""
    if _process.keeps(claim):
        _process.hold(to)


def let_go(*claims: Claim) -> None:
    """Stop keeping them."""
    _process.let_go(*claims)


def _forget_after_fork() -> None:
    global _process
    _process = Heartbeat()


os.register_at_fork(before=lambda: _process.rest(), after_in_child=_forget_after_fork)
