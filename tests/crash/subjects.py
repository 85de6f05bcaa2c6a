"""
Subjects: the shapes under fire. One entry each; every test of what any run must survive is parametrized with them.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from durable.models import Plan

from .app import plans
from .app.models import Effect, Parcel


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A run of one shape, and what must have happened when it is settled."""

    name: str
    model: type[Any]
    start: Callable[[], Any]
    once: frozenset[str]  # effects in the database: exactly once
    repeatable: frozenset[str]  # effects outside: at least once, always under one key
    decide: Callable[[Any], bool] = lambda run: False  # what a person does to a run that stopped for one

    def check(self, run: Any, ledger: Path) -> int:
        """Assert that everything happened, and nothing twice that must not. Return how many outside effects were repeats."""
        run.refresh_from_db()
        assert run.status == run.MACHINE.done, f"it is {run.status}: {run.explain()}"
        happened = Counter(Effect.objects.filter(run=run.pk).values_list("name", flat=True))
        assert happened == dict.fromkeys(self.once, 1), f"database effects {dict(happened)}"
        lines = [line.split() for line in (ledger.read_text().splitlines() if ledger.exists() else [])]
        mine = [(name, key) for pk, name, key in lines if pk == str(run.pk)]
        assert {name for name, _ in mine} == self.repeatable, f"outside effects {mine}"
        assert len(set(mine)) == len(self.repeatable), f"an outside effect had two keys: {mine}"
        return len(mine) - len(self.repeatable)


SUBJECTS = [
    Subject(
        name="job",
        model=Parcel,
        start=lambda: Parcel.objects.start(),
        once=frozenset({"weigh", "ship", "bill"}),
        repeatable=frozenset({"ship"}),
    ),
    Subject(
        name="plan",
        model=Plan,
        start=plans.start,
        once=frozenset({"weigh", "bill"}),
        repeatable=frozenset({"ship"}),
        decide=plans.resume,
    ),
]
