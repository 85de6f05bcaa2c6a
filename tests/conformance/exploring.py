"""
Exploring: every order in which the hands of one program can be let through their gates.

Depth first, each schedule played anew from its beginning. Where a schedule comes to a state that was seen before (the same
row, traces and calls, every hand at the same place with the same past), what can follow is explored already, and the
schedule is given up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from durable import executing, stepping

from .stage import Cast, Stage

__all__ = ["Explored", "explore"]


@dataclass(slots=True)
class Explored:
    """What was explored."""

    schedules: int = 0  # played, whole or until a state seen before
    whole: int = 0  # played to their end
    states: int = 0  # distinct
    events: int = 0  # judged
    waits: int = 0  # how often a hand waited for a row lock
    ends: set[str] = field(default_factory=set)  # distinct committed states that schedules ended in
    seconds: float = 0.0
    complete: bool = True  # False: stopped at the bound

    def __str__(self) -> str:
        bound = "" if self.complete else " (stopped at the bound)"
        return (
            f"{self.schedules} schedules, {self.states} states, {self.events} events, {self.waits} lock waits, "
            f"{len(self.ends)} ends in {self.seconds:.1f} s{bound}"
        )


def explore(
    stage: Stage,
    parts: Callable[[], list[Cast]],
    make: Callable[[], Any],
    *,
    most: int = 20_000,
    merge: bool = True,
    slow: bool = False,
) -> Explored:
    """
    Play every schedule of a program.

    Args:
        stage: where; its hands are at least as many as the parts.
        parts: returns the parts; called once per schedule.
        make: makes a fresh run.
        most: schedules at the most.
        merge: False plays every schedule to its end, also through states seen before.
        slow: every step takes long enough for its second write; otherwise none does, however busy this machine is.

    Raises:
        Unlawful: with the schedule that leads to it.
    """
    worth = 0.0 if slow else math.inf
    with mock.patch.object(stepping, "_WORTH_A_WRITE", worth), mock.patch.object(executing, "_WORTH_A_WRITE", worth):
        return _explore(stage, parts, make, most, merge)


def _explore(
    stage: Stage, parts: Callable[[], list[Cast]], make: Callable[[], Any], most: int, merge: bool
) -> Explored:
    found = Explored()
    stage.ends, stage.ever_blocked, began = set(), 0, time.monotonic()
    seen: set[Any] = set()
    todo: list[list[str]] = [[]]
    while todo:
        if found.schedules >= most:
            found.complete = False
            break
        prefix = todo.pop()
        path: list[str] = []

        def choose(depth: int, state: Any, able: list[str], prefix: list[str] = prefix, path: list[str] = path) -> Any:
            if depth < len(prefix):
                assert prefix[depth] in able, f"not deterministic: {prefix[depth]!r} is not among {able}"
                path.append(prefix[depth])
                return able.index(prefix[depth])
            if merge and state in seen:
                return None
            if merge:
                seen.add(state)
            found.events += 1
            todo.extend([*path, other] for other in able[1:])
            path.append(able[0])
            return 0

        found.schedules += 1
        try:
            found.whole += stage.play(parts(), make(), choose, skip=max(0, len(prefix) - 1))
        except AssertionError as error:
            error.add_note("the schedule:\n  " + "\n  ".join(path))
            raise
    found.states, found.ends, found.waits = len(seen), stage.ends, stage.ever_blocked
    found.seconds = time.monotonic() - began
    return found
