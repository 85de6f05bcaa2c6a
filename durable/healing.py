"""
Healing: plans that nobody will move any more are told so: by every worker's maintenance, and by whoever looks at one.

An executing plan whose owner vanished is failed (interrupted): only a person may have it go on. A plan that nobody decided
about, or executed, in time is expired.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from . import signals
from .contract import Claim, reap, transition
from .owner import label_of
from .verdicts import APPROVED, EXECUTING, EXPIRED, FAILED, INTERRUPTED, PENDING

__all__ = ["heal", "heal_all"]

_PAGE = 1_000


def heal(plan: Any) -> bool:
    """Heal one plan, if it needs it. Return whether it was moved; the instance is as it was."""
    # Whoever looks at a plan comes here: nearly always there is nothing to write, and one read says so.
    return bool(plan._row().filter(_late()).values_list("pk")[:1]) and _heal(plan._row(), plan)


def heal_all(rows: QuerySet[Any], using: str) -> list[str]:
    """Heal every plan that needs it. Return a sentence for each that was interrupted: a person must decide about it."""
    # Settled ones are out of sight of the index this reads.
    found = list(rows.filter(_late(), settled_at__isnull=True).order_by("pk").defer("failures")[:_PAGE])
    interrupted = []
    for plan in found:
        row = rows.filter(pk=plan.pk)
        if _heal(row, plan) and row.filter(status=FAILED).exists():
            interrupted.append(f"The plan {plan.title or plan.pk} was interrupted; look at its receipts and resume it.")
    return interrupted


def _late() -> Q:
    return Q(expires_at__lte=Now(), status__in=(PENDING, APPROVED)) | Q(lease_expires_at__lte=Now(), status=EXECUTING)


def _heal(row: QuerySet[Any], plan: Any) -> bool:
    late = row.filter(expires_at__lte=Now())
    if plan.status == PENDING:
        return transition(late, PENDING, EXPIRED, last_error="nobody decided about it in time")
    if plan.status == APPROVED:
        if transition(late.filter(fence=0), APPROVED, EXPIRED, last_error="approved, and not executed in time"):
            return True
        said = f"{INTERRUPTED}: it was put down, and nobody went on with it in time"
        return transition(late.filter(fence__gt=0), APPROVED, FAILED, cause=INTERRUPTED, last_error=said)
    if plan.status != EXECUTING:
        return False
    said = f"{INTERRUPTED}: {label_of(plan.owner)} vanished with the plan in hand"
    if not reap(row.filter(status=EXECUTING), fence=plan.fence, cause=INTERRUPTED, last_error=said):
        return False
    gone = Claim(type(plan), using=row.db, pk=plan.pk, fence=plan.fence, owner=plan.owner, lease=0)
    signals.send(signals.run_settled, plan, status=FAILED, claim=gone)
    return True
