"""
Attempt: carry one claimed run as far as it goes. The only place that catches a user's exception; it keeps it on the row.

Whatever happens, the claim ends: settled, released, or lost to a newer owner. `job.run()` and the runner share it.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from typing import Any

from django.db import connections

from . import heartbeat, signals
from .contract import Claim
from .effects import persistently
from .errors import Interrupted, LostLease, Wait
from .run import clean_text

__all__ = ["Outcome", "attempt"]

logger = logging.getLogger("durable")


class Outcome(enum.StrEnum):
    """How an attempt ended."""

    DONE = "done"  # settled as it should be
    DEAD = "dead"  # given up; a person must look
    FAILED = "failed"  # the error is kept, the run is tried again later
    WAITING = "waiting"  # nothing is wrong; it asked to be called later
    INTERRUPTED = "interrupted"  # this process was asked to stop; the run is free again
    LOST = "lost"  # a newer owner, or a person, took it
    UNKNOWN = "unknown"  # the database could not be reached to record the outcome; the lease will lapse


def attempt(run: Any, claim: Claim, *, should_stop: Callable[[], bool] = bool) -> Outcome:
    """
    Advance a claimed run until it settles or stops, and record how it ended.

    Args:
        run: the run as the claim returned it.
        claim: the right to write it; used up when this returns.
        should_stop: asked between steps; True releases the run at once, and the attempt does not count.

    Raises:
        BaseException: only what is not an Exception (SystemExit, KeyboardInterrupt), after it was recorded.
    """
    claim.should_stop = should_stop
    heartbeat.hold(claim)
    try:
        return _advance(run, claim)
    except LostLease:
        signals.send(signals.run_lost, run, claim=claim)
        return Outcome.LOST
    except Exception:
        # Not even the outcome could be written. The lease lapses by itself, and the next owner reads the receipts.
        logger.exception("outcome not recorded kind=%s pk=%s fence=%s", run._meta.label_lower, run.pk, claim.fence)
        if not connections[claim.alias].in_atomic_block:
            connections[claim.alias].close()
        return Outcome.UNKNOWN
    finally:
        heartbeat.let_go(claim)


def _advance(run: Any, claim: Claim) -> Outcome:
    try:
        if claim.lost_owner is not None and persistently(claim, lambda: run.lost(claim)):
            signals.send(signals.run_settled, run, status=run.MACHINE.dead, claim=claim)
            return Outcome.DEAD
        run.advance(claim)
    except LostLease:
        raise
    except Interrupted:
        persistently(claim, lambda: run.give_back(claim, attempts=_not_counted(run), losses=0))
        return Outcome.INTERRUPTED
    except Wait as wait:
        left: dict[str, Any] = {
            "due_in": wait.seconds,
            "attempts": _not_counted(run),
            "last_error": clean_text(wait.reason),
        }
        persistently(claim, lambda: run.give_back(claim, **left))
        signals.send(signals.run_waiting, run, seconds=wait.seconds, reason=wait.reason, claim=claim)
        return Outcome.WAITING
    except Exception as error:  # noqa: BLE001 - the one place that catches what users raise
        return _failed(run, claim, error)
    except BaseException as error:
        _failed(run, claim, error)
        raise
    signals.send(signals.run_settled, run, status=run.settled_as or run.MACHINE.done, claim=claim)
    return Outcome.DONE


def _failed(run: Any, claim: Claim, error: BaseException) -> Outcome:
    status = persistently(claim, lambda: run.fail(claim, error))
    signals.send(signals.run_failed, run, error=error, status=status, claim=claim)
    if status in run.MACHINE.terminal:
        signals.send(signals.run_settled, run, status=status, claim=claim)
        return Outcome.DEAD
    return Outcome.FAILED


def _not_counted(run: Any) -> int:
    return max(0, int(run.attempts) - 1)
