"""
Signals: what happens to runs, for whoever wants to know. Sent after the fact is committed; a receiver's error is logged.

Each is sent with `sender` = the run's model, `run` = the instance, and what its comment names.
"""

from __future__ import annotations

import logging
from typing import Any

from django.dispatch import Signal

__all__ = ["run_failed", "run_lost", "run_progressed", "run_settled", "run_waiting", "send", "step_done"]

step_done = Signal(use_caching=True)  # step: its name; claim
run_settled = Signal(use_caching=True)  # status; claim
run_failed = Signal(use_caching=True)  # error; status: what the run is now; claim
run_waiting = Signal(use_caching=True)  # seconds, reason; claim
run_lost = Signal(use_caching=True)  # claim: the one that may write no more
run_progressed = Signal(use_caching=True)  # seen, total: rows of a pass; claim

logger = logging.getLogger("durable")


def send(signal: Signal, run: Any, **facts: Any) -> None:
    """Send a signal if anybody listens; a receiver that raises is logged and never reaches the run."""
    for receiver, answer in signal.send_robust(type(run), run=run, **facts):
        if isinstance(answer, Exception):
            logger.error("signal receiver failed receiver=%r pk=%s", receiver, run.pk, exc_info=answer)
