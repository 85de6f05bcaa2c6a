"""
Subjects: the shapes under fire. One entry each; every test of what any run must survive is parametrized with them.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models.functions import Now

from durable import Backoff, outbox, polling, topics
from durable.models import Message, Operation, Plan

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
    budget: Callable[[Any, Backoff], None]  # (monkeypatch, spacing and number of attempts): what its code allows a run
    fewest: int  # boundaries it has at the least: fewer, and the test has looked at nothing
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


def _of_jobs(monkeypatch: Any, budget: Backoff) -> None:
    monkeypatch.setattr(Parcel, "backoff", budget)


def _of_messages(monkeypatch: Any, budget: Backoff) -> None:
    handler = topics.find("crash.letter")
    spent = dataclasses.replace(handler, attempts=budget.attempts, backoff=budget)
    monkeypatch.setitem(topics._handlers, "crash.letter", spent)


def _errand() -> Operation:
    """Start an operation whose `run()` goes on to its end: it is begun, and looked at when that is due."""
    operation = polling.start("crash.errand", {})

    def run() -> bool:
        for _ in range(3):
            Operation.objects.filter(pk=operation.pk, lease_expires_at__isnull=True, due_at__gt=Now()).update(
                due_at=Now()
            )
            if Operation.run(operation):
                return True
        return False

    operation.run = run
    return operation


SUBJECTS = [
    Subject(
        name="job",
        model=Parcel,
        start=lambda: Parcel.objects.start(),
        once=frozenset({"weigh", "ship", "bill"}),
        repeatable=frozenset({"ship"}),
        budget=_of_jobs,
        fewest=15,
    ),
    Subject(
        name="message",
        model=Message,
        start=lambda: outbox.post("crash.letter", {"to": "Ada"}),
        once=frozenset(),
        repeatable=frozenset({"post"}),
        budget=_of_messages,
        fewest=8,
    ),
    Subject(
        name="operation",
        model=Operation,
        start=_errand,
        once=frozenset(),
        repeatable=frozenset({"begin", "poll"}),
        budget=lambda monkeypatch, budget: None,  # looks are not counted, and a beginning is made once
        fewest=12,
    ),
    Subject(
        name="plan",
        model=Plan,
        start=plans.start,
        once=frozenset({"bill"}),
        repeatable=frozenset({"ship"}),
        budget=lambda monkeypatch, budget: None,  # a plan has one attempt; what a person decides is the next
        fewest=15,
        decide=plans.resume,
    ),
]
