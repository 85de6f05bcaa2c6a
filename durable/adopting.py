"""
Adopting: runs that were started by code with other steps, taken over by code that knows every step they name.

A run carries the names of its steps. Code that does not know one of them never claims it: last week's code must not
settle a run of today's.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext as _

__all__ = ["adopt", "left_alone", "unknown_to"]


def adopt(model: Any, rows: models.QuerySet[Any]) -> dict[str, int]:
    """
    Let this code's claims find the runs among those rows whose every step it knows, or has retired.

    Return what is left: names of unknown steps, and how many open runs carry them. Those wait for code that knows them,
    or for the names to stand in `retired_steps`.
    """
    mine = model.names_of_steps()
    free = models.Q(lease_expires_at__isnull=True) | models.Q(lease_expires_at__lte=Now())
    others = rows.filter(free, settled_at__isnull=True, status__in=model.MACHINE.open).exclude(step_names=mine)
    left = {}
    for theirs in list(others.order_by().values_list("step_names", flat=True).distinct()):
        unknown = {*filter(None, theirs.split(","))} - model.steps().keys() - {*model.retired_steps}
        if unknown:
            left[", ".join(sorted(unknown))] = others.filter(step_names=theirs).count()
        else:
            adopted = others.filter(step_names=theirs)
            # With the next fence where somebody holds it: an owner of old code that wakes up would settle it
            # without the steps it has not heard of.
            adopted.filter(status=model.MACHINE.claimed).update(step_names=mine, fence=models.F("fence") + 1)
            adopted.update(step_names=mine)
    return left


def unknown_to(job: Any) -> str:
    """Return that nobody with this code will run the job, as it has a step the code does not know; or nothing."""
    unknown = {*filter(None, job.step_names.split(","))} - job.steps().keys() - {*job.retired_steps}
    if not unknown:
        return ""
    return _("nobody will run this: this code does not know its step %(steps)s") % {"steps": ", ".join(sorted(unknown))}


def left_alone(model: Any, using: str) -> list[str]:
    """Adopt what can be; return a sentence for each group of runs that is left to other code."""
    return [
        f"{model._meta.label}: {count} open run(s) have a step this code does not know: {unknown}. They wait for "
        f"code that does; if it was dropped on purpose, name it in {model.__name__}.retired_steps."
        for unknown, count in adopt(model, model._base_manager.using(using).all()).items()
    ]
