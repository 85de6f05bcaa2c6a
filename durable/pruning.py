"""
Pruning: settled runs are deleted when they are old enough. Open runs never are, however old.

In small transactions, oldest first, so that a crash or Ctrl-C leaves fewer rows and nothing half done.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from . import kinds
from .acknowledging import forget
from .clock import InSeconds

__all__ = ["parse_age", "prune"]

_BATCH = 1_000
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def parse_age(text: str) -> float:
    """
    Return seconds for an age such as 90d, 12h, 30m, 2w.

    Raises:
        ValueError: with what is expected.
    """
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip())
    if not found:
        message = f"{text!r} is not an age; write a number and a unit: 90d, 12h, 30m, 2w"
        raise ValueError(message)
    return int(found[1]) * _UNITS[found[2]]


def prune(
    model: type[Any], older_than: float, *, dry_run: bool = False, on_batch: Callable[[int], None] | None = None
) -> int:
    """
    Delete the runs of one kind that settled more than so many seconds ago, by the database's clock.

    Args:
        model: the kind.
        older_than: seconds.
        dry_run: only count.
        on_batch: called with the number of rows after each committed batch.

    Returns:
        How many runs were, or would be, deleted. A key that is deleted may be used again.
    """
    old = kinds.rows_of(model).settled().exclude(status__in=model.KEPT).filter(settled_at__lt=InSeconds(-older_than))
    if dry_run:
        return int(old.count())
    total = 0
    while True:
        batch = list(old.order_by("settled_at").values_list("pk", flat=True)[:_BATCH])
        if not batch:
            return total
        # Conditions again: a run that staff sent back to work meanwhile is not ours to delete.
        deleted, per_model = old.filter(pk__in=batch).delete()
        total += per_model.get(model._meta.label, deleted)
        forget(model, batch, old.db)
        if on_batch is not None:
            on_batch(deleted)
