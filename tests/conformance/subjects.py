"""
Subjects: the shapes this suite looks at. A new shape joins by one class here, and passes by the same code.

What is common to all shapes (how a run is claimed, advanced, renewed) is not asked of a subject: it is the contract.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol

from durable.run import Run

from .models import Chore

__all__ = ["SUBJECTS", "Subject"]

Story = tuple[str, ...]


class Subject(Protocol):
    """One shape: how its runs are made and what they leave behind."""

    name: str
    model: type[Run]
    in_database: frozenset[str]  # steps that leave one Trace in their receipt's transaction
    outside: frozenset[str]  # steps that call the far side, and say that a repeat is possible
    every: Story  # all steps any code of this kind ever had
    stories: tuple[Story, ...]  # lists of steps that the short programs are explored with, small to large
    deploys: tuple[
        Story, ...
    ]  # the lists that successive deploys have in the longer lives; the last one knows them all

    def make(self) -> Any:
        """Record a fresh run that is due now, with the steps of the code that is deployed."""

    def deployed(self, story: Story) -> contextlib.AbstractContextManager[None]:
        """Be code that has these steps, in this order."""

    def carries(self, row: dict[str, Any]) -> set[str]:
        """Return the steps this row says it consists of."""

    def start(self, key: str) -> Any:
        """Start a run under that key, or find the one there is."""

    def cancel(self, run: Any) -> bool:
        """Let staff cancel it. False where it was too late."""

    def retry(self, run: Any) -> bool:
        """Let staff send it back to work. False where that was not possible."""


class Jobs:
    """Jobs: several steps of every kind."""

    name = "job"
    model = Chore
    in_database = frozenset({"draw", "tell", "close"})
    outside = frozenset({"call", "tell"})
    every = ("draw", "call", "tell", "close")
    stories = (("draw",), ("call",), ("tell",), ("draw", "call"), ("call", "close"), ("draw", "tell", "close"))
    deploys = (
        ("draw", "call"),
        ("draw", "call", "close"),
        ("close", "call", "draw"),
        ("draw", "call", "tell", "close"),
    )

    def make(self) -> Chore:
        return Chore.objects.start()

    @contextlib.contextmanager
    def deployed(self, story: Story) -> Iterator[None]:
        before, Chore.carried = Chore.carried, story
        try:
            yield
        finally:
            Chore.carried = before

    def carries(self, row: dict[str, Any]) -> set[str]:
        return set(row["step_names"].split(","))

    def start(self, key: str) -> Chore:
        return Chore.objects.start(key=key)

    def cancel(self, run: Chore) -> bool:
        return run.cancel()

    def retry(self, run: Chore) -> bool:
        return run.retry()


SUBJECTS: tuple[Subject, ...] = (Jobs(),)
