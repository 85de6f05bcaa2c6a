"""
Logs: a receiver of our own signals that writes one line per event, the event first, then key=value.

A lost lease is INFO, a failing run is WARNING, a run that was given up is ERROR: someone must come.
"""

from __future__ import annotations

import logging
from typing import Any

from . import signals
from .errors import text_of

__all__ = ["connect"]

logger = logging.getLogger("durable")


def connect() -> None:
    """Start writing. Called once, when Django has loaded the app."""
    signals.run_settled.connect(_settled, dispatch_uid="durable.logs")
    signals.run_failed.connect(_failed, dispatch_uid="durable.logs")
    signals.run_waiting.connect(_waiting, dispatch_uid="durable.logs")
    signals.run_lost.connect(_lost, dispatch_uid="durable.logs")


def _settled(sender: Any, run: Any, status: str, claim: Any, **_: Any) -> None:
    level = logging.ERROR if status == run.MACHINE.dead else logging.INFO
    if logger.isEnabledFor(level):
        logger.log(level, "run settled kind=%s pk=%s fence=%s status=%s", _kind(run), run.pk, claim.fence, status)


def _failed(sender: Any, run: Any, error: BaseException, status: str, claim: Any, **_: Any) -> None:
    logger.warning(
        "run failed kind=%s pk=%s fence=%s status=%s attempt=%s error=%s",
        _kind(run), run.pk, claim.fence, status, run.attempts, f"{type(error).__name__}: {text_of(error)}"[:500],
        exc_info=error,
    )  # fmt: skip


def _waiting(sender: Any, run: Any, seconds: float, reason: str, claim: Any, **_: Any) -> None:
    logger.info("run waiting kind=%s pk=%s seconds=%g reason=%s", _kind(run), run.pk, seconds, reason)


def _lost(sender: Any, run: Any, claim: Any, **_: Any) -> None:
    logger.info("lease lost kind=%s pk=%s fence=%s", _kind(run), run.pk, claim.fence)


def _kind(run: Any) -> str:
    return str(run._meta.label_lower)
