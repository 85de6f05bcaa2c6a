"""A far side that does as it is told, and boot passes that need not wait."""

import itertools
import threading
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from durable import kinds, polling
from durable.models import Operation
from durable.runner import Reconciler
from durable.shutdown import Shutdown

KIND = "test.call"


class FarSide:
    """Somebody else: what it was asked to begin, and what it says when it is looked at."""

    def __init__(self):
        self.begun = []  # keys, in order: each is an operation that was accepted
        self.asked = []  # every call: ("begin" | "find" | "poll" | "cancel", key or handle)
        self.answers = {"begin": [], "find": [], "poll": [], "cancel": []}  # what the next calls end in
        self.lock = threading.Lock()

    def answer(self, method, about):
        with self.lock:
            self.asked.append((method, about))
            answer = self.answers[method].pop(0) if self.answers[method] else None
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    def count(self, method):
        return sum(one == method for one, _ in self.asked)


class Call(polling.ExternalCall):
    """Begins at the far side; has no way to look anything up, and cannot stop."""

    far_side = None

    def begin(self, op):
        answer = self.far_side.answer("begin", op.key)
        self.far_side.begun.append(op.key)
        return answer or f"h-{op.key}"

    def poll(self, op):
        return self.far_side.answer("poll", op.handle) or polling.Succeeded({"n": 1}, status="finished")


class Findable(Call):
    def find(self, op):
        told = self.far_side.answer("find", op.key)
        return told or (f"h-{op.key}" if op.key in self.far_side.begun else None)


class Stoppable(Findable):
    def cancel(self, op):
        self.far_side.answer("cancel", op.handle)


@pytest.fixture
def far_side():
    return FarSide()


@pytest.fixture
def kind(far_side):
    """Register a kind; `kind(base, **options)` returns its name."""
    numbers = itertools.count()
    made = []

    def register(base=Call, **options):
        name = f"{KIND}.{next(numbers)}"
        declared = type("One", (base,), {"far_side": far_side, "__qualname__": f"One{name}"})
        polling.register(name, **{"every": 5, "give_up_after": timedelta(hours=1), "find_for": 0, **options})(declared)
        made.append(name)
        return name

    yield register
    for name in made:
        polling.forget(name)


def make_due():
    """Move every waiting operation's due time to now, as time would."""
    kinds.rows_of(Operation).open().filter(lease_expires_at__isnull=True).update(due_at=Now(), held_until=None)


def one_pass(**options):
    """One boot pass over the operations."""
    reconciler = Reconciler([Operation], Shutdown(grace=0), threads=1, **options)
    reconciler.prepare()
    return reconciler.run_pass()


def passes(number=10):
    """As many boot passes, each when everything is due."""
    for _ in range(number):
        make_due()
        one_pass()
