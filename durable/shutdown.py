"""
Shutdown: what SIGTERM, SIGINT and SIGHUP mean to a worker.

The first asks: begin nothing new, finish the step in hand within the grace time. After that, or at a second signal, the
step is cut off: its transaction is rolled back, its run released at once, and the process ends. Neither counts as an
attempt. What is killed without a signal is found by its lease.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from .contract import Claim
from .errors import LostLease

__all__ = ["Shutdown"]

logger = logging.getLogger("durable")

#: Seconds all releases together may take when the process must end.
_RELEASE_WITHIN = 3.0

_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")


class Shutdown:
    """
    The state of being asked to stop, and the claims this process must give back before it ends.

    Args:
        grace: seconds the step in hand may go on after the first signal.
        code: the exit status when steps had to be cut off.
    """

    def __init__(self, *, grace: float, code: int = 0) -> None:
        self.grace = grace
        self.code = code
        self.asked = threading.Event()
        self.name = ""  # of the signal, once it came
        self._in_hand: dict[Claim, Any] = {}
        self._lock = threading.Lock()
        self._wakers: list[Callable[[], None]] = []
        self._before: dict[int, Any] = {}
        self._watcher: threading.Thread | None = None
        self._over = threading.Event()

    def __enter__(self) -> Shutdown:
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                number = getattr(signal, name, None)
                if number is not None:
                    self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def stopping(self) -> bool:
        """Return whether this process was asked to stop."""
        return self.asked.is_set()

    def wakes(self, waker: Callable[[], None]) -> None:
        """Call that when the process is asked to stop."""
        self._wakers.append(waker)

    def took(self, runs: Mapping[Claim, Any]) -> None:
        """Remember claims, each with its run, that must be given back if the process ends before it does."""
        with self._lock:
            self._in_hand.update(runs)

    def gave_back(self, *claims: Claim) -> None:
        """Forget them."""
        with self._lock:
            for claim in claims:
                self._in_hand.pop(claim, None)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # A handler may interrupt any line of the main thread, one that holds our lock included: it only sets facts.
        if self.asked.is_set():
            threading.Thread(target=self._cut_off, daemon=True).start()
            return
        self.name = signal.Signals(number).name
        self.asked.set()
        self._watcher = threading.Thread(target=self._after_grace, name="durable-grace", daemon=True)
        self._watcher.start()

    def _after_grace(self) -> None:
        logger.info("asked to stop signal=%s grace=%g", self.name, self.grace)
        for wake in self._wakers:
            wake()
        if not self._over.wait(self.grace):
            self._cut_off()

    def _cut_off(self) -> None:
        """Roll back what is open, release what is held, and end the process without waiting for any step."""
        try:
            with self._lock:
                held = list(self._in_hand.items())
            releases = [threading.Thread(target=self._release, args=pair, daemon=True) for pair in held]
            for release in releases:
                release.start()
            # Bounded: a database that cannot answer now must not keep the process alive. Its leases will lapse.
            patience = time.monotonic() + _RELEASE_WITHIN
            for release in releases:
                release.join(max(0.0, patience - time.monotonic()))
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(self.code)

    def _release(self, claim: Claim, run: Any) -> None:
        if claim.cut_off is not None:
            claim.cut_off()
        try:
            note = f"cut off by {self.name}; the attempt does not count"
            run.give_back(claim, attempts=max(0, run.attempts - 1), losses=0, last_error=note)
            logger.warning("step cut off kind=%s pk=%s", claim.model._meta.label_lower, claim.pk)
        except LostLease:
            logger.info("lease lost kind=%s pk=%s", claim.model._meta.label_lower, claim.pk)
        except Exception:
            logger.exception("release failed kind=%s pk=%s", claim.model._meta.label_lower, claim.pk)
