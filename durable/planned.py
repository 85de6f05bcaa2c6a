"""
Plans: runs that are frozen lists of actions, decided about by a person, executed once, with a receipt per step.

    pending → approved → executing → executed | failed        pending → rejected        pending, approved → expired

A database action's receipt is committed with its effect; an external one's follows it, and the action says what a repeat
does. Nothing is retried: a step that is not ok stops the plan, what was done before stays done, and is told so. Only a plan
whose owner vanished may go on, where its receipts end, by a recorded decision.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from . import actions, deciding, explain, healing, proposing, records, staff
from .attempt import attempt
from .conf import setting
from .contract import Claim, Machine, Taking, claim
from .effects import outside_transaction
from .endings import Stopped, give_up, told
from .errors import InsideTransaction, NotRecorded, WorkerLost
from .executing import Executing
from .lanes import Lane
from .owner import current
from .run import CONTRACT, Receipt, Run, RunQuerySet, trouble_index
from .verdicts import (
    APPROVED,
    BEGUN,
    EXECUTED,
    EXECUTING,
    EXPIRED,
    FAILED,
    INTERRUPTED,
    PENDING,
    REJECTED,
    Ruling,
    StepReceipt,
)

__all__ = ["Plan"]

_LOOKS = 3  # how often run() tries to claim a plan that nobody holds


class Plan(Run):
    """One plan. Made by `plans.propose()`, and frozen from then on."""

    MACHINE: ClassVar[Machine] = Machine(
        waiting=APPROVED,
        claimed=EXECUTING,
        done=EXECUTED,
        dead=FAILED,
        terminal=frozenset({EXECUTED, FAILED, REJECTED, EXPIRED}),
        arrows=frozenset(
            {
                (PENDING, APPROVED), (PENDING, REJECTED), (PENDING, EXPIRED), (APPROVED, EXPIRED), (APPROVED, FAILED),
                (FAILED, APPROVED),
            }
        ),
    )  # fmt: skip

    #: Of an attempt under way, on this instance only.
    position_in_hand: int | None = None

    title = models.CharField(max_length=200, blank=True, default="", editable=False)
    steps = models.JSONField(editable=False)
    digest = models.CharField(max_length=64, editable=False)
    risk = models.CharField(gettext_lazy("risk"), max_length=10, editable=False)
    four_eyes = models.BooleanField(default=False, editable=False)
    # Names, not foreign keys: a plan and its decisions outlive the accounts of those who made them.
    proposer_id = models.CharField(max_length=100, blank=True, default="", editable=False)
    proposer = models.CharField(gettext_lazy("proposer"), max_length=200, blank=True, default="", editable=False)
    expires_at = models.DateTimeField(editable=False)
    cause = models.CharField(max_length=16, blank=True, default="", editable=False)
    compensates = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="compensations", editable=False
    )
    status = models.CharField(max_length=16, default=PENDING, editable=False)

    class Meta:
        verbose_name = gettext_lazy("plan")
        verbose_name_plural = gettext_lazy("plans")
        permissions = [("approve_plan", "Can approve, reject and resume plans")]
        indexes = [
            models.Index(fields=["created_at"], condition=Q(status=PENDING), name="durable_plan_undecided"),
            trouble_index("durable_plan"),
        ]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.title or self.key or self.pk}"

    # What users call ---------------------------------------------------------------------------------------------

    def approve(self, *, by: Any) -> Ruling:
        """
        Approve the plan as this instance shows it, if it waits for a decision and has not expired.

        A worker, or `run()`, executes it. The approval serves once, and is looked at again when the plan is executed.

        Returns:
            A ruling, true where it was this call that approved. Where not, it says who decided, and when.

        Raises:
            NotAllowed: `by` lacks `durable.approve_plan` or a permission of an action, or proposed a plan that needs four
                eyes. It is a PermissionDenied of Django.
        """
        return deciding.approve(self, by)

    def reject(self, *, by: Any, reason: str = "") -> Ruling:
        """Reject the plan, if it waits for a decision. Returns and raises what `approve` does."""
        return deciding.reject(self, by, reason)

    def resume(self, *, by: Any, reason: str = "") -> Ruling:
        """
        Let an interrupted plan go on at its first step without a receipt. Steps with one are skipped.

        An external step that was begun is called again, under the same key. Only a plan that is `failed` because its owner
        vanished can be resumed; one with a failed step needs a new plan. Returns and raises what `approve` does.
        """
        return deciding.resume(self, by, reason)

    def compensate(self, *, by: Any, expires_in: float | timedelta | None = None) -> Plan:
        """
        Propose a plan that takes back what this one really did, last step first, as far as its actions have an `undo`.

        It needs its own approval, and leaves its own receipts; nothing is rolled back. One that waits or runs already is
        returned instead of another. What an earlier compensation took back is left out.

        Raises:
            NotAllowed: `by` may not decide about plans.
            NotProposed: it has not ended, or nothing of it can be taken back.
        """
        made: Plan = proposing.compensate(self, by=by, expires_in=expires_in)
        return made

    def run(self) -> bool:
        """
        Claim the approved plan and execute it here and now. Never inside a transaction.

        Return whether it is executed, now or before. A plan that has ended is never executed again.

        Raises:
            InsideTransaction: a transaction is open on the plan's alias, which could take its receipts back.
        """
        using = self._state.db or "default"
        if not outside_transaction(using):
            message = (
                f"{self}: run() was called inside a transaction, so its receipts could vanish with it. Call it after."
            )
            raise InsideTransaction(message)
        for _look in range(_LOOKS):
            taken = self._claim(using)
            if taken:
                attempt(*taken[0])
            self.heal()
            if taken or self.status != APPROVED or self.standstill():
                break
            # A claim never waits, and whoever lost the race to decide holds the row for a moment more. This does.
            with transaction.atomic(using=using):
                list(self._row().select_for_update().values("pk"))
        return bool(self.status == EXECUTED)

    def heal(self) -> bool:
        """
        Read the row anew; where nobody will move it any more, settle it as expired, or as failed (interrupted).

        Return whether it was settled by this call. Whoever shows a plan calls it first.
        """
        self.refresh_from_db()
        healed = healing.heal(self)
        if healed:
            self.refresh_from_db()
        return healed

    def receipts(self) -> list[Receipt]:
        """Return one StepReceipt per step, in their order; `at` is None where a step was not done."""
        return list(self.step_receipts())

    def step_receipts(self) -> list[StepReceipt]:
        """Return what `receipts()` does, typed as what it is."""
        found = {receipt.position: receipt for receipt in self.log.all()}
        return [records.told(position, step, found.get(position)) for position, step in enumerate(self.steps)]

    def answer(self) -> dict[str, Any]:
        """
        Return the plan's state as JSON, from its row and receipts alone: for a plan that has ended always the same.

        Texts in it are for people; the errors' own are for staff, in `failures`.
        """
        return {
            "id": str(self.pk), "title": self.title, "status": self.status, "cause": self.cause, "digest": self.digest,
            "expires_at": self.expires_at.isoformat(),
            "settled_at": self.settled_at.isoformat() if self.settled_at else None,
            "steps": [records.as_json(receipt) for receipt in self.step_receipts()],
        }  # fmt: skip

    def in_doubt(self) -> list[StepReceipt]:
        """Return the external steps that were begun and have no end: they may have happened."""
        return [receipt for receipt in self.step_receipts() if receipt.kind == BEGUN]

    def key_for(self, position: int) -> str:
        """Return the idempotency key of one step's external call: the same on every attempt, unlike any other step's."""
        return f"{self._meta.label_lower}:{self.pk}:{position}"

    def explain(self) -> str:
        """Return one sentence: what the plan is doing, why, and what happens next by itself."""
        return explain.explain(self)

    def standstill(self) -> str:
        """Return why no worker may take the plan though it has not ended, or an empty string."""
        if self.status == PENDING:
            until = f"{self.expires_at:%Y-%m-%d %H:%M:%S} UTC"
            return _("it waits for somebody to approve or reject it, until %(until)s") % {"until": until}
        missing = sorted({step["action"] for step in self.steps if actions.find(step["action"]) is None})
        if not missing:
            return ""
        return _("no action %(names)s in this code; it waits for code that has it") % {"names": ", ".join(missing)}

    @classmethod
    def staff_decisions(cls) -> tuple[staff.Decision, ...]:
        return staff.of_plans(cls.MACHINE, (EXECUTED, FAILED))

    # What the machinery calls ------------------------------------------------------------------------------------

    @classmethod
    def contract_columns(cls) -> frozenset[str]:
        return CONTRACT | {field.name for field in cls._meta.concrete_fields}

    @classmethod
    def can_carry_out(cls) -> tuple[tuple[str, Any], ...]:
        """Only approved plans: one whose owner vanished is nobody's to go on with by itself."""
        return (("status", APPROVED),)

    @classmethod
    def lanes(cls, using: str) -> tuple[Lane, ...]:
        """One lane. What has expired is not begun, by the clock of the statement that claims."""
        return (Lane(also=cls.can_carry_out(), only=Q(expires_at__gt=Now()), yields=True),)

    @classmethod
    def lease_seconds(cls) -> float:
        return float(setting("PLAN_LEASE"))

    @classmethod
    def maintain(cls, using: str) -> list[str]:
        return [*super().maintain(using), *healing.heal_all(RunQuerySet(cls, using=using), using)]

    def advance(self, claim: Claim) -> None:
        """Do the steps without a receipt, in order, each with its receipt; stop at the first that is not ok."""
        Executing(self, claim).go()

    def fail(self, claim: Claim, error: BaseException) -> str:
        """Settle the plan as failed, unless the receipt of the step that failed did so already."""
        if isinstance(error, NotRecorded):
            raise error
        if not isinstance(error, Stopped):
            give_up(self, claim, error)
        return FAILED

    def lost(self, claim: Claim) -> bool:
        """Settle a plan whose owner vanished: it was claimed by somebody who should have left it alone."""
        error = WorkerLost(f"{claim.lost_owner or 'an unknown owner'} vanished with the plan in hand")
        claim.settle(FAILED, **told(self, claim, None, error, INTERRUPTED))
        return True

    def _claim(self, using: str) -> list[tuple[Any, Claim]]:
        taking = Taking(pk=self.pk, also=self.can_carry_out(), only=Q(expires_at__gt=Now()))
        return claim(type(self), using=using, owner=str(current()), lease=self.lease_seconds(), taking=taking)

    def _row(self) -> RunQuerySet:
        return RunQuerySet(type(self), using=self._state.db).filter(pk=self.pk)
