"""
Subjects: the shapes this suite looks at. A new shape joins by one class here, and passes by the same code.

What is common to all shapes (how a run is claimed, advanced, renewed) is not asked of a subject: it is the contract.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from django.contrib.auth import get_user_model

from durable import Backoff, outbox, passes, plans, polling
from durable.models import Message, Operation, Pass, Plan
from durable.run import Run

from .far_side import FAR_SIDE
from .models import Chore, Trace

__all__ = ["SUBJECTS", "Subject"]

Story = tuple[str, ...]

_TOPIC = "send"


class Subject(Protocol):
    """One shape: how its runs are made and what they leave behind."""

    name: str
    model: type[Run]
    in_database: frozenset[str]  # steps that leave one Trace in their receipt's transaction
    outside: frozenset[str]  # steps that call the far side, and say that a repeat is possible
    at_most_once: frozenset[str]  # of these: steps that are repeated only where a person said that they did not happen
    parked: frozenset[str]  # further statuses of an open run that nobody holds
    brief: frozenset[str] | None  # the programs, or "program: story", of every run of the suite; None: all
    every: Story  # all steps any code of this kind ever had
    stories: tuple[Story, ...]  # lists of steps that the short programs are explored with, small to large
    cancels: bool  # whether staff may cancel a run
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

    def may(self, verb: str, row: dict[str, Any]) -> bool:
        """Return whether staff may do that to this row, beyond what its status says."""


class Jobs:
    """Jobs: several steps of every kind."""

    name = "job"
    model = Chore
    cancels = True
    in_database = frozenset({"draw", "tell", "close"})
    outside = frozenset({"call", "tell"})
    at_most_once: frozenset[str] = frozenset()
    parked: frozenset[str] = frozenset()
    brief = None
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

    def may(self, verb: str, row: dict[str, Any]) -> bool:
        return True


class Messages:
    """Messages of the outbox: one external step, which is the send."""

    name = "message"
    model = Message
    in_database: frozenset[str] = frozenset()
    outside = frozenset({_TOPIC})
    at_most_once: frozenset[str] = frozenset()
    parked: frozenset[str] = frozenset()
    brief = frozenset(
        {
            "three workers",
            "takeover",
            "early takeover",
            "failure, staff retries",
            "refusal, staff retries",
            "lost answer",
        }
    )
    every = (_TOPIC,)
    stories = ((_TOPIC,),)
    deploys = ((_TOPIC,), (_TOPIC,))
    cancels = False

    def make(self) -> Message:
        return outbox.post(_TOPIC, {"n": 1})

    @contextlib.contextmanager
    def deployed(self, story: Story) -> Iterator[None]:
        outbox.handler(_TOPIC, external="keyed", attempts=4, backoff=Backoff(base=1, factor=2, cap=60))(_send)
        yield

    def carries(self, row: dict[str, Any]) -> set[str]:
        return {_TOPIC}

    def start(self, key: str) -> Message:
        return outbox.post(_TOPIC, {"n": 1}, key=key)

    def cancel(self, run: Message) -> bool:
        return False

    def retry(self, run: Message) -> bool:
        return run.retry()

    def may(self, verb: str, row: dict[str, Any]) -> bool:
        return True


def _send(message: Message) -> str:
    handle = FAR_SIDE.call(message, _TOPIC, message.key)
    FAR_SIDE.follow(message, _TOPIC)
    return handle


class Operations:
    """Operations of others: begun at most once, as the far side here takes no key; looked up after a crash."""

    name = "operation"
    model = Operation
    in_database: frozenset[str] = frozenset()
    outside = frozenset({"begin", "poll"})
    at_most_once = frozenset({"begin"})
    parked = frozenset({"running"})
    brief = frozenset(
        {"early takeover", "staff cancels", "refusal, staff retries", "wait, takeover", "lost answer, staff cancels"}
    )
    every = ("begin", "poll")
    stories = (("begin",),)  # and the poll that follows
    deploys = (("begin",), ("begin",))
    cancels = True

    def make(self) -> Operation:
        return polling.start(self.name, {"n": 1})

    @contextlib.contextmanager
    def deployed(self, story: Story) -> Iterator[None]:
        polling.register(self.name, every=1, give_up_after=3600, find_for=0)(_Distant)
        yield

    def carries(self, row: dict[str, Any]) -> set[str]:
        return set(self.every)

    def start(self, key: str) -> Operation:
        return polling.start(self.name, {"n": 1}, key=key)

    def cancel(self, run: Operation) -> bool:
        return Operation.objects.get(pk=run.pk).cancel()

    def retry(self, run: Operation) -> bool:
        """Be the person who looks at the far side, and says what is there."""
        run = Operation.objects.get(pk=run.pk)
        if _Distant().find(run):
            return run.it_happened("handle of begin", by="staff")
        return run.it_did_not_happen(by="staff")

    def may(self, verb: str, row: dict[str, Any]) -> bool:
        return True


class _Distant(polling.ExternalCall):
    def begin(self, op: Operation) -> str:
        FAR_SIDE.refuse(op, "begin")
        handle = FAR_SIDE.call(op, "begin", op.key)
        FAR_SIDE.follow(op, "begin")
        return handle

    def find(self, op: Operation) -> str | None:
        return next((f"handle of {call.step}" for call in FAR_SIDE.calls(op.pk) if call.step == "begin"), None)

    def poll(self, op: Operation) -> polling.Succeeded:
        FAR_SIDE.call(op, "poll", op.handle)
        FAR_SIDE.follow(op, "poll")
        return polling.Succeeded({"n": 1})


class Passes:
    """Passes: one row that is made again and again; here over a single row, which is the pass's own."""

    name = "pass"
    model = Pass
    in_database: frozenset[str] = frozenset()
    outside = frozenset({"sync"})
    at_most_once: frozenset[str] = frozenset()
    parked: frozenset[str] = frozenset()
    brief = frozenset({"takeover", "early takeover", "failure, takeover", "wait, takeover", "out of sight"})
    every = ("sync",)
    stories = (("sync",),)
    deploys = (("sync",), ("sync",))
    cancels = False

    def make(self) -> Pass:
        return self.start(str(uuid.uuid4()))

    @contextlib.contextmanager
    def deployed(self, story: Story) -> Iterator[None]:
        yield

    def carries(self, row: dict[str, Any]) -> set[str]:
        return set()

    def start(self, key: str) -> Pass:
        if passes.find(key) is None:
            passes.register(key, at_boot=False)(type("Sweep", (_Sweep,), {"name": key}))
        return Pass._base_manager.filter(key=key).first() or passes.request(key)

    def cancel(self, run: Pass) -> bool:
        return False

    def retry(self, run: Pass) -> bool:
        return Pass._base_manager.get(pk=run.pk).retry()

    def may(self, verb: str, row: dict[str, Any]) -> bool:
        return True


class _Sweep(passes.SyncPass):
    """Each row has a pass of its own."""

    name = ""

    def rows(self) -> Any:
        return Pass._base_manager.filter(key=self.name)

    def sync(self, row: Pass) -> None:
        FAR_SIDE.refuse(row, "sync")
        FAR_SIDE.call(row, "sync", row.key)
        FAR_SIDE.follow(row, "sync")


def forget_passes() -> None:
    """Take back what the subject registered: each is a lane that every later boot pass looks into."""
    for one in passes.known():
        if isinstance(one.call, _Sweep):
            passes.forget(one.name)


class Plans:
    """Approved plans: database actions and an external one; one that was interrupted goes on when staff say so."""

    name = "plan"
    model = Plan
    in_database = frozenset({"draw", "close"})
    outside = frozenset({"ring"})
    at_most_once: frozenset[str] = frozenset()
    parked: frozenset[str] = frozenset()
    every = ("draw", "ring", "close")
    stories = (("draw",), ("ring",), ("draw", "ring", "close"))
    brief = frozenset({"three workers: draw", "takeover", "early takeover", "lost answer"})
    deploys = (("draw", "ring"), ("draw", "ring", "close"))
    cancels = False

    def make(self) -> Plan:
        return self._approved(None)

    @contextlib.contextmanager
    def deployed(self, story: Story) -> Iterator[None]:
        before = {action.name for action in plans.known()} & {*self.every}
        _deploy(story)
        try:
            yield
        finally:
            _deploy(before)

    def carries(self, row: dict[str, Any]) -> set[str]:
        return {step["action"] for step in row["steps"]}

    def start(self, key: str) -> Plan:
        return self._approved(key)

    def cancel(self, run: Plan) -> bool:
        return False

    def retry(self, run: Plan) -> bool:
        run.refresh_from_db()
        return bool(run.resume(by=_staff()))

    def may(self, verb: str, row: dict[str, Any]) -> bool:
        return row["cause"] == "interrupted"

    def _approved(self, key: str | None) -> Plan:
        before = Plan.objects.filter(key=key).first() if key else None
        if before is not None:
            return before
        steps = [(action.name, {}) for action in plans.known() if action.name in self.every]
        plan = plans.propose(sorted(steps, key=lambda step: self.every.index(step[0])), key=key)
        assert plan.approve(by=_staff())
        return plan


def _staff() -> Any:
    return get_user_model().objects.get_or_create(username="staff", defaults={"is_superuser": True})[0]


def _deploy(story: Iterable[str]) -> None:
    for name in Plans.every:
        plans.forget(name)
    for name in story:
        plans.action(name, external="keyed" if name in Plans.outside else None)(_ACTIONS[name])


def _draw(args: Any, context: Any) -> None:
    FAR_SIDE.begun.append((context.plan.pk, "draw"))
    Trace.objects.create(run=context.plan.pk, step="draw")
    FAR_SIDE.follow(context.plan, "draw")


def _ring(args: Any, context: Any) -> str:
    handle = FAR_SIDE.call(context.plan, "ring", context.key)
    FAR_SIDE.follow(context.plan, "ring")
    return handle


def _close(args: Any, context: Any) -> None:
    Trace.objects.create(run=context.plan.pk, step="close")
    FAR_SIDE.follow(context.plan, "close")


_ACTIONS = {"draw": _draw, "ring": _ring, "close": _close}


_deploy(Plans.every)

SUBJECTS: tuple[Subject, ...] = (Jobs(), Messages(), Operations(), Passes(), Plans())
