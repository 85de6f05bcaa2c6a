"""What may be decided about a plan: whether it runs, whether it goes on, and whether it is taken back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable.contract import Machine

from .common import leaving, next_worker
from .value import Decision, about_receipts

__all__ = ["of_plans"]

_PERMISSION = "durable.approve_plan"


def of_plans(machine: Machine, settled: Sequence[str]) -> tuple[Decision, ...]:
    """Return what may be decided about plans; `settled`: the statuses after which one can be taken back."""
    approve = Decision(
        name="approve",
        tells=True,
        label=gettext_lazy("Approve"),
        done=gettext_lazy("Approved."),
        sources=("pending",),
        carry_out=lambda run, asked: run.approve(by=asked.user),
        will=_approve_will,
        wont=lambda run, receipts, now, step: [
            _("Nothing else is done than what stands here, and no step twice. The approval serves once."),
        ],
        permission=_PERMISSION,
        shows=lambda run: str(run.digest),
    )
    reject = Decision(
        name="reject",
        tells=True,
        label=gettext_lazy("Reject"),
        done=gettext_lazy("Rejected."),
        sources=("pending",),
        carry_out=lambda run, asked: run.reject(by=asked.user, reason=asked.reason),
        will=lambda run, receipts, now, step: [_("The plan is settled as rejected.")],
        wont=lambda run, receipts, now, step: [_("Nothing of it is done, now or later.")],
        permission=_PERMISSION,
        shows=lambda run: str(run.digest),
        grave=True,
    )
    resume = Decision(
        name="resume",
        label=gettext_lazy("Resume"),
        done=gettext_lazy("Resumed."),
        sources=("failed",),
        when=lambda run, now: run.cause == "interrupted",
        carry_out=lambda run, asked: asked.still(run) and run.resume(by=asked.user, reason=asked.reason),
        will=_resume_will,
        wont=lambda run, receipts, now, step: about_receipts(receipts),
        permission=_PERMISSION,
        shows=lambda run: str(run.digest),
    )
    compensate = Decision(
        name="compensate",
        label=gettext_lazy("Take back"),
        done=gettext_lazy("A plan was proposed that takes it back; it waits for a decision of its own."),
        sources=tuple(settled),
        when=lambda run, now: bool(_undoable(run)),
        carry_out=lambda run, asked: asked.still(run) and run.compensate(by=asked.user),
        will=lambda run, receipts, now, step: [
            _("A new plan is proposed that takes these back, the last first: %(steps)s.")
            % {"steps": "; ".join(_undoable(run))},
            _("It needs its own approval."),
        ],
        wont=_compensate_wont,
        permission=_PERMISSION,
        shows=lambda run: str(run.digest),
    )
    return (approve, reject, resume, compensate, leaving(machine, _PERMISSION))


def _approve_will(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    facts = {"until": f"{run.expires_at:%Y-%m-%d %H:%M:%S}"}
    return [
        _("These steps run in this order, exactly as they stand here, once; it stops at the first that is not ok:"),
        *(f"{receipt.position + 1}. {receipt.words}" for receipt in receipts),
        _("A worker begins as soon as one is free; what is not begun by %(until)s UTC expires.") % facts,
    ]


def _resume_will(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    found = [_("It goes on at its first step without a receipt.")]
    for receipt in receipts:
        if receipt.kind == "begun":
            facts = {"n": receipt.position + 1, "step": receipt.words}
            if receipt.guarantee == "at-least-once":
                found.append(_("Step %(n)s (%(step)s) was begun and may have happened: it may happen twice.") % facts)
            else:
                found.append(_("Step %(n)s (%(step)s) was begun and is called again, under the same key.") % facts)
    return [*found, next_worker()]


def _undoable(run: Any) -> list[str]:
    """Return the steps that were done and can be taken back, in words, the last first."""
    steps = list(zip(run.steps, run.step_receipts(), strict=True))
    return [receipt.words for step, receipt in reversed(steps) if receipt.kind == "ok" and step["undo"]]


def _compensate_wont(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    kept = [
        receipt.words
        for one, receipt in zip(run.steps, receipts, strict=True)
        if receipt.kind == "ok" and not one["undo"]
    ]
    found = [_("Nothing is rolled back by this alone.")]
    if kept:
        found.append(_("These cannot be taken back: %(steps)s.") % {"steps": "; ".join(kept)})
    return found
