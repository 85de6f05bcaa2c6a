"""
Skipping: a step that a person decided to leave out. One fenced UPDATE stamps its receipt and says so beside it.

The receipt column keeps the step from ever being begun; the step log's entry, which is part of the row like the receipt,
says for ever that nothing was done, by whose decision and why. The fence moves, so nobody who held the run before can
write; and as the whole log is written, it is the fence that keeps a receipt written meanwhile from being lost.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from . import starting, waking
from .contract import transition
from .run import storable

__all__ = ["skip"]

_LONGEST = 500


def skip(job: Any, step: str, *, reason: str, by: str, rows: Any) -> bool:
    """Record the step as skipped and make the job due. See `Job.skip`; `rows` is the job's row as the caller saw it."""
    declared = job.steps().get(step)
    if declared is None:
        message = _("%(job)s has no step %(step)r; its steps: %(steps)s") % {
            "job": type(job).__name__, "step": step, "steps": ", ".join(job.steps()),
        }  # fmt: skip
        raise ValueError(message)
    reason = storable(reason.strip(), _LONGEST)
    if not reason:
        message = _("a step is skipped with a reason: it is all that people will find in place of the receipt")
        raise ValueError(message)
    machine, using = job.MACHINE, job._state.db
    found = rows.filter(**{f"{declared.column}__isnull": True}).values("status", "fence", "step_log").first()
    if found is None or found["status"] not in (machine.waiting, machine.dead):
        return False
    fence = found["fence"] + 1
    entry = {"skipped": reason, "by": storable(by, 150) or _("somebody"), "fence": fence}
    with transaction.atomic(using=using), starting.no_other_in_flight(job):
        moved = transition(
            rows.filter(fence=found["fence"], **{f"{declared.column}__isnull": True}),
            found["status"],
            machine.waiting,
            **{declared.column: Now(), "step_log": {**found["step_log"], step: entry}},
            fence=F("fence") + 1,
            attempts=0,
            losses=0,
            last_error="",
            **starting.boarding(job),
        )
        if moved:
            waking.ring_after_commit(using)
    job.refresh_from_db()
    return moved
