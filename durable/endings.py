"""
Endings: what is written down of a plan that failed, for people and for staff.
"""

from __future__ import annotations

from typing import Any

from django.db import connections, transaction
from django.db.models.functions import Now

from . import clock
from .contract import Claim
from .errors import NotAsApproved, Refused, text_of
from .run import FAILURES_KEPT, clean_text, failure
from .verdicts import FAILED, FAILURE, INTERRUPTED, REFUSED

__all__ = ["Stopped", "give_up", "said_of", "told"]


class Stopped(Exception):
    """A step was not ok. Its receipt and the plan's settlement are committed already."""


def give_up(plan: Any, claim: Claim, error: BaseException) -> None:
    """
    Settle as failed a plan whose attempt ended in an error that left no receipt.

    Raises:
        LostLease: it is somebody else's, or settled.
    """
    position = plan.position_in_hand
    if isinstance(error, NotAsApproved):
        claim.settle(plan.MACHINE.dead, **told(plan, claim, position, error, REFUSED))
    elif position is None or not isinstance(error, Exception):
        # The process is being ended, or nothing had begun: what is recorded is what happened.
        claim.settle(plan.MACHINE.dead, **told(plan, claim, position, error, INTERRUPTED))
    else:
        with transaction.atomic(using=claim.alias):
            claim.settle(plan.MACHINE.dead, **told(plan, claim, position, error, FAILURE))
            plan.log.using(claim.alias).update_or_create(
                plan_id=plan.pk, position=position,
                defaults={
                    "action": plan.steps[position]["action"], "kind": FAILED, "recorded_at": Now(),
                    "guarantee": plan.steps[position]["external"] or "exactly once", "fence": claim.fence,
                    "owner": claim.owner, "error": said_of(error, plan.steps[position]["external"]),
                },
            )  # fmt: skip


def told(plan: Any, claim: Claim, position: int | None, error: BaseException | None, cause: str) -> dict[str, Any]:
    """Return what a plan's row says of why it failed: for staff, with the error's own text."""
    error = error or Stopped()
    step = plan.steps[position]["action"] if position is not None and position < len(plan.steps) else ""
    entry = failure(plan, step=step, error=error, owner=claim.by, at=clock.read(connections[claim.alias]))
    where = f"step {position + 1} ({step}): " if step and position is not None else ""
    said = f"{cause}: {where}{text_of(error) or type(error).__name__}"
    return {
        "cause": cause, "last_error": clean_text(said), "failures": [entry, *plan.failures][:FAILURES_KEPT], "losses": 0,
    }  # fmt: skip


def said_of(error: BaseException, external: str | None) -> str:
    """Return what people are told of a failed step: what the action meant for them, and nothing it did not."""
    if isinstance(error, Refused):
        return clean_text(text_of(error), 2_000)
    if external is not None:
        return "The call failed, or its answer was lost: it may have reached the other side. Staff can see the reason."
    return "This step failed, and what it had changed was undone. Staff can see the reason."
