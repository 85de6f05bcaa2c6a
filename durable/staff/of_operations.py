"""What may be decided about an operation of somebody else: what became of it, where nobody can say; and to give it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable.contract import Machine

from .common import common, next_worker
from .value import Asked, Decision, Question

__all__ = ["of_operations"]


def of_operations(machine: Machine) -> tuple[Decision, ...]:
    """Return what may be decided about operations, with that machine."""
    again = Decision(
        name="look-again",
        label=gettext_lazy("Look again"),
        done=gettext_lazy("Watched again."),
        sources=("unknown", "failed"),
        carry_out=lambda run, asked: asked.still(run) and run.look_again(by=asked.user),
        when=lambda run, now: run.begun_at is not None,
        will=lambda run, receipts, now, step: [
            _("It is watched again, from now on: the far side is asked how it stands."),
            next_worker(),
        ],
        wont=lambda run, receipts, now, step: [_("It is not begun again.")],
    )
    happened = Decision(
        name="it-happened",
        label=gettext_lazy("It happened"),
        done=gettext_lazy("It happened, as %(handle)s."),
        sources=("unknown",),
        carry_out=_happened,
        asks=(Question(name="handle", label=gettext_lazy("Handle, as the far side gave it")),),
        will=lambda run, receipts, now, step: [
            _("It is watched from now on under the handle that you give."),
            next_worker(),
        ],
        wont=lambda run, receipts, now, step: [_("It is not begun again.")],
        needs_reason=True,
    )
    absent = Decision(
        name="it-did-not-happen",
        label=gettext_lazy("It did not happen"),
        done=gettext_lazy("It did not happen: begun again."),
        sources=("unknown",),
        carry_out=lambda run, asked: asked.still(run) and run.it_did_not_happen(by=asked.user),
        will=_absent_will,
        wont=lambda run, receipts, now, step: [_("Nobody is asked first: look at the far side before you press.")],
        needs_reason=True,
        grave=True,
    )
    cancel = Decision(
        name="cancel",
        label=gettext_lazy("Give it up"),
        done=gettext_lazy("Given up."),
        sources=(*machine.open, "unknown"),
        carry_out=lambda run, asked: asked.still(run) and run.cancel(by=asked.user),
        will=_cancel_will,
        wont=lambda run, receipts, now, step: [_("What the far side has done already is not taken back.")],
        grave=True,
    )
    hasten, release, leave = common(machine)
    # Not one of which nobody knows how it ended: that is settled by deciding it, not by looking.
    return (again, happened, absent, hasten, release, cancel, replace(leave, sources=("failed",)))


def _happened(run: Any, asked: Asked) -> Any:
    return asked.still(run) and run.it_happened(asked.answers["handle"], by=asked.user)


def _absent_will(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    facts = {"key": run.key}
    return [
        _("It is begun again, under the same key, %(key)s.") % facts,
        _("If it did happen after all, the outside world may see it twice, unless the far side knows the key."),
        next_worker(),
    ]


def _cancel_will(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    if run.begun_at is None:
        return [_("It was not begun, and never will be.")]
    return [
        _("The far side is asked to stop, where its kind can; it is then watched until it ends, as the far side says."),
        _("Where its kind cannot, it is watched no longer, and the far side may finish it."),
    ]
