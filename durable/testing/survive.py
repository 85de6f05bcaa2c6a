"""
Survival: the same operation, killed at every boundary in turn, always finished from its receipts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from durable import kinds

from .crash import in_child
from .settle import run_until_settled

__all__ = ["Survival", "assert_survives"]

_MOST_POINTS = 5_000


@dataclass(slots=True)
class Survival:
    """What was survived."""

    points: int = 0  # boundaries at which a process was killed
    boundaries: list[str] = field(default_factory=list)  # their names, in order
    runs: list[Any] = field(default_factory=list)  # the run of each, settled


def assert_survives(
    start: Callable[[], Any] | Any,
    *,
    check: Callable[[Any], None] | None = None,
    every: int = 1,
    decide: Callable[[Any], bool] | None = None,
) -> Survival:
    """
    Kill a worker at each boundary of the operation in turn; assert that a boot pass always finishes it.

    Args:
        start: starts the operation afresh and returns the run; called once per boundary, in this process, before the
            worker is forked. Or a run that was started: copies of it are used.
        check: called with each finished run: raise AssertionError where an effect is missing or doubled.
        every: look at each n-th boundary only.
        decide: called with each run that settled otherwise than done, to be the person who looks at it: resume an
            interrupted plan, for instance. Returns whether the run goes on.

    Returns:
        What was survived.

    Raises:
        AssertionError: naming the boundary after which the run was not done, or the check failed.
    """
    begin = start if callable(start) else _copies_of(start)
    survived = Survival()
    for number in itertools.islice(itertools.count(0, every), _MOST_POINTS):
        run = begin()
        using = run._state.db
        crash = in_child(run.run, crash_at=number, using=using)
        try:
            if crash.killed:
                run_until_settled(type(run))
            finished = kinds.rows_of(type(run)).get(pk=run.pk)
            while finished.status != finished.MACHINE.done and decide is not None and decide(finished):
                run_until_settled(type(run))
                finished = kinds.rows_of(type(run)).get(pk=run.pk)
            if finished.status != finished.MACHINE.done:
                message = f"it is {finished.status}: {finished.explain()}"
                raise AssertionError(message)  # noqa: TRY301
            if check is not None:
                check(finished)
        except AssertionError as error:
            where = crash.boundary or "no boundary: it was not killed"
            message = f"killed at boundary {number} ({where}): {error}"
            raise AssertionError(message) from error
        survived.runs.append(finished)
        if not crash.killed:
            return survived
        survived.points += 1
        survived.boundaries.append(crash.boundary)
    message = f"more than {_MOST_POINTS} boundaries; use every=…"
    raise AssertionError(message)


def _copies_of(run: Any) -> Callable[[], Any]:
    guarded = run.contract_columns()
    fields = {
        field.attname: getattr(run, field.attname)
        for field in run._meta.concrete_fields
        if field.name not in guarded and not field.generated
    }
    if run.one_in_flight:
        message = f"{run} allows one in flight; give assert_survives() a function that starts a fresh one each time"
        raise TypeError(message)
    return lambda: type(run).objects.using(run._state.db).start(**fields)
