"""What may be decided about a job: retry it, cancel it, leave a step out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable.contract import Machine

from .common import common, next_worker
from .value import Asked, Decision, about_receipts, about_repeats

__all__ = ["of_jobs"]


def of_jobs(machine: Machine) -> tuple[Decision, ...]:
    """Return what may be decided about jobs, with that machine."""
    canceled = next(iter(machine.terminal - {machine.done, machine.dead}))
    retry = Decision(
        name="retry",
        label=gettext_lazy("Retry"),
        done=gettext_lazy("Retried."),
        sources=(machine.dead, canceled),
        carry_out=lambda run, asked: bool(run.retry(seen=asked.seen)),
        will=_retry_will,
        wont=lambda run, receipts, now, step: about_receipts(receipts),
    )
    skip = Decision(
        name="skip",
        label=gettext_lazy("Skip"),
        done=gettext_lazy("Skipped %(step)s."),
        sources=(machine.waiting, machine.dead),
        carry_out=_skipped,
        will=_skip_will,
        wont=_skip_wont,
        needs_reason=True,
        of_step=True,
        grave=True,
    )
    cancel = Decision(
        name="cancel",
        label=gettext_lazy("Cancel the run"),
        done=gettext_lazy("Canceled."),
        sources=machine.open,
        carry_out=lambda run, asked: bool(run.cancel(seen=asked.seen)),
        will=_cancel_will,
        wont=_cancel_wont,
        grave=True,
    )
    return (retry, *common(machine), skip, cancel)


def _skipped(run: Any, asked: Asked) -> bool:
    return bool(run.skip(asked.step, reason=asked.reason, by=asked.by, seen=asked.seen))


def _retry_will(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    found = [_("The run is due at once, with a fresh budget of attempts.")]
    if run.status != run.MACHINE.dead:
        found.append(_("What its cancellation took back is set again: its on_start runs in the same transaction."))
    following = next((receipt.step for receipt in receipts if receipt.at is None), "")
    if following:
        found.append(_("It goes on with %(step)s.") % {"step": following})
    return [*found, next_worker(), *about_repeats(receipts)]


def _skip_will(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    rest = [receipt.step for receipt in receipts if receipt.at is None and receipt.step != step]
    found = [
        _("%(step)s is recorded as skipped, with your name and your reason, and is shown so for ever.") % {"step": step}
    ]
    if rest:
        facts = {"steps": ", ".join(rest)}
        found.append(_("The run is due at once and goes on with: %(steps)s. They do not get what it returns.") % facts)
    else:
        found.append(_("No step is left then: the next worker settles the run as done."))
    return [*found, next_worker(), *about_repeats([one for one in receipts if one.step != step])]


def _skip_wont(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    begun = next((receipt.starts for receipt in receipts if receipt.step == step), 0)
    found = [_("%(step)s is never begun again; this cannot be taken back.") % {"step": step}]
    if begun:
        facts = {"step": step, "starts": begun}
        found.append(_("%(step)s was begun %(starts)s times; what that did outside stays as it is.") % facts)
    return [*found, *about_receipts(receipts)]


def _cancel_will(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    found = [_("The run is settled as canceled, and its on_cancel runs in the same transaction.")]
    following = next((receipt for receipt in receipts if receipt.at is None), None)
    if run.status == run.MACHINE.claimed and following is not None:
        found.append(
            _(
                "%(step)s may be in hand: a database step is waited for; an external call already sent cannot be called "
                "back, and leaves no receipt."
            )
            % {"step": following.step}
        )
    return found


def _cancel_wont(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    done = [receipt.step for receipt in receipts if receipt.at is not None]
    rest = [receipt.step for receipt in receipts if receipt.at is None]
    found = []
    if rest:
        found.append(_("These are not begun any more: %(steps)s.") % {"steps": ", ".join(rest)})
    if done:
        found.append(_("What is done stays done, and is not undone: %(steps)s.") % {"steps": ", ".join(done)})
    return found
