"""
Lanes: in which of several lines a kind's runs wait for a worker.

A lane is a set of conditions that no other lane of its kind shares. Each is claimed from in turn, so one with a million
rows, or with slow ones, does not stand before another. Most kinds have one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from .contract import Taking

__all__ = ["Lane", "names_of_open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One line of runs, and how many a worker may take from it."""

    name: str = ""  # tells the lanes of one kind apart
    within: tuple[tuple[str, Any], ...] = ()  # (column, value) pairs, where the index of due runs begins with them
    also: tuple[tuple[str, Any], ...] = ()  # (column, value) pairs of the runs that stand in it
    only: Q | None = None  # whatever else must be true of a run, of its own columns
    most: int | None = None  # runs claimed at a time at the most; None: as the worker sees fit
    together: bool = False  # what is claimed at a time is carried out in one call
    yields: bool = False  # leaves one thread of the process free, until it has shown that its runs are quick
    admission: Callable[[], AbstractContextManager[Any]] | None = None  # held while claiming: has `left` and `took()`

    def taking(self, *also: tuple[str, Any], **more: Any) -> Taking:
        """Return what a claimer asks for: the runs of this lane, of which more is true."""
        return Taking(within=self.within, also=(*self.also, *also), only=self.only, **more)


def names_of_open(model: type[Any], column: str, using: str) -> list[str]:
    """Return what that column of the open runs holds, each text once: by one look into the index of due runs for each."""
    rows, found = model._base_manager.using(using).filter(due_at__isnull=False), [""]
    while True:
        later = rows.filter(**{f"{column}__gt": found[-1]}).order_by(column)
        after = later.values_list(column, flat=True).first()
        if after is None:
            return found[1:]
        found.append(after)
