"""
Verbs: what workers, staff and time do to one run, of any shape. The short programs are made of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from durable.attempt import Outcome, attempt
from durable.clock import InSeconds
from durable.contract import Claim, Taking, claim, release_early

from .far_side import FAR_SIDE
from .subjects import Subject

__all__ = ["carry_on", "take"]

LEASE = 60.0


def take(subject: Subject, pk: Any, owner: str) -> tuple[Any, Claim] | None:
    """Claim that run, if it is free, as a worker of the deployed code would."""
    model = subject.model
    taking = Taking(pk=pk, also=model.can_carry_out())
    taken = claim(model, using="default", owner=owner, lease=LEASE, taking=taking)
    return taken[0] if taken else None


def carry_on(subject: Subject, pk: Any, owner: str, seen: Callable[[Claim], None] = bool) -> Outcome | None:
    """Claim it and advance it as far as it goes. None where it was not free."""
    taken = take(subject, pk, owner)
    if taken is None:
        return None
    run, right = taken
    FAR_SIDE.works_under(right.fence)
    seen(right)
    return attempt(run, right)


def lapse(subject: Subject, pk: Any) -> None:
    """Let so much time pass that a lease, if there is one, has run out."""
    rows = subject.model._base_manager.filter(pk=pk, lease_expires_at__isnull=False)
    rows.update(lease_expires_at=InSeconds(-1))


def free_early(subject: Subject, right: Claim) -> None:
    """Be the boot pass that knows that owner to be dead (it may be wrong: correctness never rests on it)."""
    release_early(subject.model._base_manager.filter(pk=right.pk), fence=right.fence, owner=right.owner)
