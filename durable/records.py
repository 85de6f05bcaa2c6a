"""
Records: what is written down of a plan's steps and of the decisions about it, and how a step is told from it.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from .verdicts import OK, StepReceipt, verb_word

__all__ = ["Decision", "PlanReceipt", "as_json", "told"]


class PlanReceipt(models.Model):
    """What is recorded of one step of a plan, committed with its effect. Never changed but from `begun`."""

    # Without a constraint in the database: a receipt outlives whatever is done to the plan's row by hand.
    plan = models.ForeignKey(
        "durable.Plan",
        on_delete=models.CASCADE,
        db_constraint=False,
        db_index=False,
        related_name="log",
        editable=False,
    )
    position = models.PositiveIntegerField(editable=False)
    action = models.CharField(max_length=100, editable=False)
    guarantee = models.CharField(max_length=20, editable=False)
    kind = models.CharField(max_length=10, editable=False)
    output = models.JSONField(null=True, editable=False)
    versions = models.JSONField(default=list, editable=False)
    error = models.TextField(blank=True, default="", editable=False)
    took = models.FloatField(null=True, editable=False)
    starts = models.PositiveIntegerField(default=1, editable=False)
    fence = models.BigIntegerField(editable=False)
    owner = models.CharField(max_length=200, editable=False)
    started_at = models.DateTimeField(db_default=Now(), editable=False)
    recorded_at = models.DateTimeField(null=True, db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["plan", "position"], name="durable_plan_receipt")]

    def __str__(self) -> str:
        return f"{self.kind} of step {self.position} of {self.plan_id}"

    @property
    def by(self) -> str:
        """The owner in the short form that people read: host/pid."""
        return self.owner.partition(" ")[0]


class Decision(models.Model):
    """Who decided what about a plan, and when. Written in the transaction of the decision, and never changed."""

    plan = models.ForeignKey(
        "durable.Plan", on_delete=models.CASCADE, db_constraint=False, related_name="decisions", editable=False
    )
    at = models.DateTimeField(db_default=Now(), editable=False)
    verb = models.CharField(max_length=16, editable=False)
    by_id = models.CharField(max_length=100, blank=True, default="", editable=False)
    by = models.CharField(max_length=200, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    reason = models.TextField(blank=True, default="", editable=False)

    def __str__(self) -> str:
        return _("%(verb)s by %(by)s") % {"verb": self.word, "by": self.by}

    @property
    def word(self) -> str:
        """The verb, as a person says it."""
        return verb_word(self.verb)


def told(position: int, step: dict[str, Any], receipt: Any) -> StepReceipt:
    """Return what is recorded of one step, given its row, or None where there is none."""
    guarantee = step["external"] or "exactly once"
    if receipt is None:
        return StepReceipt(
            step=step["action"], guarantee=guarantee, at=None, position=position, words=step["words"], kind=""
        )
    return StepReceipt(
        step=step["action"], guarantee=guarantee, at=receipt.recorded_at if receipt.kind == OK else None,
        took=receipt.took, owner=receipt.by, fence=receipt.fence if receipt.kind == OK else None, starts=receipt.starts,
        position=position, words=step["words"], kind=receipt.kind, output=receipt.output, error=receipt.error,
        recorded_at=receipt.recorded_at,
    )  # fmt: skip


def as_json(receipt: StepReceipt) -> dict[str, Any]:
    """Return what anybody may be told of a step."""
    return {
        "position": receipt.position, "action": receipt.step, "words": receipt.words, "kind": receipt.kind,
        "output": receipt.output, "error": receipt.error,
        "recorded_at": receipt.recorded_at.isoformat() if receipt.recorded_at else None, "starts": receipt.starts,
    }  # fmt: skip
