"""What may be decided about a run of any shape: try it at once, take a lease from an owner that is gone, leave it so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.apps import apps
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable.contract import Machine, hasten, release_early
from durable.owner import is_gone, parse
from durable.standing import Standing, bad_endings, standing

from .value import Asked, Decision, about_receipts, about_repeats

__all__ = ["common", "leaving", "next_worker"]


def next_worker() -> str:
    """Return what every decision that makes a run due has to say of the time until something happens."""
    return _(
        "Nothing runs in this request: the next worker (manage.py reconcile --watch) or boot pass takes the run, usually "
        "within a second or two where one is watching."
    )


def _waits(run: Any, now: datetime) -> bool:
    return standing(run, now) is Standing.WAITING


def _is_held(run: Any, now: datetime) -> bool:
    return standing(run, now) in (Standing.RUNNING, Standing.ORPHANED)


def _hastened(run: Any, asked: Asked) -> bool:
    return hasten(asked.seen.among(_row(run)))


def _released(run: Any, asked: Asked) -> bool:
    return release_early(asked.seen.among(_row(run)), fence=asked.seen.fence, owner=run.owner)


def _acknowledged(run: Any, asked: Asked) -> bool:
    return bool(_acknowledgement().note(run, by=asked.by, reason=asked.reason, seen=asked.seen))


def _acknowledgement() -> Any:
    return apps.get_model("durable", "Acknowledgement")  # by its name: it knows runs, and every run knows this


def _row(run: Any) -> Any:
    return type(run)._base_manager.using(run._state.db).filter(pk=run.pk)


def _release_will(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    owner = parse(run.owner)
    who = owner.label if owner else run.owner
    found = [_("The lease of %(who)s lapses at once, and the next worker or boot pass takes over.") % {"who": who}]
    if is_gone(run.owner):
        found.append(_("That process provably no longer exists: it ran on this host.") % {"who": who})
    else:
        found.append(
            _(
                "This page cannot see whether %(who)s still runs. If it does, it can write nothing more once somebody "
                "else has taken the run; a call it has in hand may still reach the other side, and then be repeated."
            )
            % {"who": who}
        )
    return [*found, _("It counts as a lost worker."), *about_repeats(_begun(receipts))]


def _begun(receipts: Sequence[Any]) -> list[Any]:
    """Return the receipts with the step in hand counted as begun: its owner never got to say so."""
    found = list(receipts)
    for index, receipt in enumerate(found):
        if receipt.at is None:
            found[index] = replace(receipt, starts=receipt.starts + 1)
            break
    return found


def common(machine: Machine) -> tuple[Decision, ...]:
    """Return them, for a shape with that machine."""
    hastened = Decision(
        name="run-now",
        label=gettext_lazy("Run now"),
        done=gettext_lazy("Made due at once."),
        sources=(machine.waiting,),
        when=_waits,
        carry_out=_hastened,
        will=_hasten_will,
        wont=lambda run, receipts, now, step: about_receipts(receipts),
    )
    released = Decision(
        name="release",
        label=gettext_lazy("Release the lease"),
        done=gettext_lazy("The lease was released."),
        sources=(machine.claimed,),
        when=_is_held,
        carry_out=_released,
        will=_release_will,
        wont=lambda run, receipts, now, step: [
            _("The process is not stopped, and the run is not canceled."),
            *about_receipts(receipts),
        ],
        needs_reason=True,
        grave=True,
    )
    return (hastened, released, leaving(machine))


def leaving(machine: Machine, permission: str = "change") -> Decision:
    """Return the decision that leaves a run given up, as one that somebody has looked at."""
    return Decision(
        name="acknowledge",
        label=gettext_lazy("Leave it so"),
        done=gettext_lazy("Looked at, and left so."),
        sources=tuple(bad_endings(machine)),
        when=lambda run, now: bool(run.last_error) and _acknowledgement().is_missing(run),
        carry_out=_acknowledged,
        will=lambda run, receipts, now, step: [
            _("It is no longer told as a problem on the overview, unless it is retried and given up again.")
        ],
        wont=lambda run, receipts, now, step: [
            _("Nothing of the run changes: it stays settled as it is, and may still be retried."),
            *about_receipts(receipts),
        ],
        permission=permission,
        needs_reason=True,
    )


def _hasten_will(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    facts = {"time": f"{run.due_at:%Y-%m-%d %H:%M:%S}"}
    return [
        _("The run is due at once instead of at %(time)s UTC; its attempts stay counted.") % facts,
        next_worker(),
        *about_repeats(receipts),
    ]
