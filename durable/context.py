"""
Context: what an action of a plan knows besides its arguments.
"""

from __future__ import annotations

from typing import Any

from django.db import connections
from django.db.models import QuerySet

__all__ = ["Context"]


class Context:
    """What an action knows besides its arguments."""

    def __init__(self, plan: Any, position: int, *, using: str, executing: bool = False, approver: Any = None) -> None:
        self.plan = plan  # for reading: it is frozen
        self.position = position
        self.key: str = plan.key_for(position)  # for an external call: the same on every attempt
        self.using = using
        self.executing = executing  # False at the proposal
        self.approver = approver  # the user who approved it, or had it resumed
        self.outputs: dict[int, Any] = {}  # what earlier steps returned, by position
        self.versions: dict[tuple[str, str], Any] = {}

    @property
    def plan_id(self) -> str:
        """The plan's id, as text."""
        return str(self.plan.pk)

    def baseline(self, kind: str, pk: Any) -> Any:
        """
        Return the version at which this step may change that target.

        What the approver saw, or what an earlier step of this plan made of it. For saves that compare versions themselves.
        """
        return self.versions.get((kind, str(pk)))

    def lock(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows, locked until the step's transaction ends where the step is executed in one."""
        return rows.select_for_update() if self.executing and connections[rows.db].in_atomic_block else rows
