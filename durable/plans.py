"""
Plans: what was approved is what runs, once, with a receipt per step.

    from durable import plans

    @plans.action("contact.rename", schema=Rename, undo="contact.rename", words="Rename contact {id} to {name}")
    def rename(args, context): ...

    plan = plans.propose([("contact.rename", {"id": 7, "name": "Ada"})], by=user, title="Tidy up")
    plan.approve(by=staff)
    plan.run()                     # or leave it to `manage.py reconcile`

A proposal is checked whole and frozen, with a digest over everything the approver reads. Execution refuses whatever is not
that, or is not approved any more, and says why. A database action's effect and receipt are one transaction: it happens
exactly once. An external action happens at least once, with the same key every time. A plan stops at the first step that is
not ok; taking back what was done is another plan.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .actions import Action, ActionError, action, find, forget, known
from .errors import NotAllowed, NotProposed, TargetMoved
from .verdicts import Issue, Ruling, StepReceipt, Target

if TYPE_CHECKING:
    from .planned import Plan

__all__ = [
    "Action",
    "ActionError",
    "Issue",
    "NotAllowed",
    "NotProposed",
    "Ruling",
    "StepReceipt",
    "Target",
    "TargetMoved",
    "action",
    "find",
    "forget",
    "get",
    "known",
    "propose",
]


def propose(
    steps: Iterable[tuple[str, Any]],
    *,
    by: Any = None,
    title: str = "",
    expires_in: float | timedelta | None = None,
    key: str | None = None,
    four_eyes: bool | None = None,
    using: str | None = None,
) -> Plan:
    """
    Record a plan that waits for a decision, in the caller's transaction or in one of its own.

    Args:
        steps: pairs of an action's name and its arguments; at most PLAN_STEPS of them.
        by: the user who proposes it; None: a program.
        title: what it is for, for who decides; up to 200 characters.
        expires_in: seconds, or a timedelta, by the database's clock, until when it may be approved and begun (default: the
            PLAN_EXPIRES setting).
        key: the idempotency key. The same key with the same plan returns the plan there is, decided or not.
        four_eyes: somebody else than `by` must approve it (default: the PLAN_FOUR_EYES setting).
        using: the database alias; by default where the router puts plans.

    Returns:
        The plan.

    Raises:
        NotProposed: nothing was recorded; `issues` holds every reason, with the step and the place in its arguments.
        KeyConflict: the key was used for another plan.
    """
    from .planned import Plan
    from .proposing import propose as _propose

    plan: Plan = _propose(
        Plan, steps, by=by, title=title, expires_in=expires_in, key=key, four_eyes=four_eyes, using=using
    )
    return plan


def get(pk: Any, *, using: str | None = None) -> Plan | None:
    """
    Return that plan as it stands, or None. One that nobody will move any more is settled first: see `Plan.heal`.

    Anything that is no plan's id is nobody's.
    """
    from django.core.exceptions import ValidationError

    from .planned import Plan

    try:
        plan: Plan | None = Plan._base_manager.using(using).filter(pk=pk).first()
    except (ValidationError, ValueError):
        return None
    if plan is not None:
        plan.heal()
    return plan
