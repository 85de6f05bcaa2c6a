"""What may be decided about a pass: to make it now."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable.contract import Machine

from .common import common, next_worker
from .value import Decision

__all__ = ["of_passes"]


def of_passes(machine: Machine) -> tuple[Decision, ...]:
    """Return what may be decided about passes, with that machine."""
    again = Decision(
        name="retry",
        label=gettext_lazy("Make the pass now"),
        done=gettext_lazy("Due at once."),
        sources=tuple(sorted(machine.terminal)),
        carry_out=lambda run, asked: asked.still(run) and run.retry(),
        will=lambda run, receipts, now, step: [
            _("The pass is due at once, and goes over all its rows; each is synced with the authority."),
            next_worker(),
        ],
        wont=lambda run, receipts, now, step: [_("No row is changed that is as the authority says.")],
    )
    return (again, *common(machine))
