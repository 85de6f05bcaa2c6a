"""
Runner: the only loop. A boot pass carries on what was interrupted and what is due, then ends; a watch goes on for ever.

Each worker thread claims for itself, so a slow run holds up no other. While there is nothing to do one thread of the
process looks, once per poll, with one statement for all kinds.
"""

from __future__ import annotations

import collections
import functools
import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import Error, connections

from . import clock, heartbeat, kinds
from .attempt import Outcome, attempt
from .conf import setting
from .contract import Claim, Taking, claim
from .errors import LostLease
from .owner import current
from .patience import limit_connection, patience
from .shutdown import Shutdown
from .takeover import take_over

__all__ = ["Reconciler", "Report"]

logger = logging.getLogger("durable")

_MAINTAIN_EVERY = 60.0  # seconds between two looks for what no claimer sees
_QUICK = 0.05  # runs that take less than this are worth claiming several at a time
_MOST_AT_ONCE = 16


@dataclass(slots=True)
class Report:
    """What a pass did. Counts by outcome, and sentences for people."""

    outcomes: collections.Counter[Outcome] = field(default_factory=collections.Counter)
    taken_over: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether somebody should look: something failed, was given up, or can be run by nobody."""
        bad = (Outcome.FAILED, Outcome.DEAD, Outcome.UNKNOWN)
        return bool(self.problems) or any(self.outcomes[outcome] for outcome in bad)


class Reconciler:
    """
    Carries runs on until nothing is due, or until it is told to stop.

    Args:
        models: the kinds to look after.
        shutdown: what says when to stop.
        threads: runs in flight at the same time; 1 works in the calling thread.
        boot: also take open runs that are not due yet, once each: whatever their backoff, a restart may have healed it.
        limit: stop after so many runs.
        on_outcome: called after each run, from its thread.
    """

    def __init__(
        self,
        models: Sequence[type[Any]],
        shutdown: Shutdown,
        *,
        threads: int = 1,
        boot: bool = True,
        limit: int | None = None,
        on_outcome: Callable[[Any, Outcome], None] | None = None,
    ) -> None:
        self.models = [(model, kinds.alias_of(model)) for model in models]
        self.shutdown = shutdown
        self.threads = threads
        self.report = Report()
        self._boot = boot
        self._left = limit
        self._on_outcome = on_outcome
        self._owner = str(current())
        self._lease = float(setting("LEASE"))
        self._began: dict[str, Any] = {}  # alias → when this process began to look, by its database's clock
        self._old: set[type[Any]] = set()  # kinds whose runs from before that have not all been taken once
        self._change = threading.Condition()
        self._looking = False
        self._watching = False
        self._turn = 0
        self._raised: BaseException | None = None
        shutdown.wakes(self.wake)

    def prepare(self) -> None:
        """Take over from the dead of this host, mend what no claimer would see, and note when this pass began."""
        self._old = {model for model, _ in self.models}
        for model, alias in self.models:
            with patience(alias, self._lease):
                self.report.taken_over += take_over(model, alias)
        # Only now: a takeover touches its rows, and a pass leaves alone what was touched after it began.
        self._began = {alias: clock.read(connections[alias]) for _, alias in self.models}
        self.maintain()

    def limit_connections(self) -> None:
        """Let this thread's connections notice a network that is gone. For threads that are ours alone."""
        for alias in {alias for _, alias in self.models}:
            limit_connection(alias, self._lease)

    def maintain(self) -> None:
        """Look for runs that nobody would ever carry out."""
        problems: list[str] = []
        for model, alias in self.models:
            with patience(alias, float(setting("STEP_TIMEOUT"))):
                problems += model.maintain(alias)
        self.report.problems = problems

    def run_pass(self) -> Report:
        """
        Take every run there is once, and those that begin meanwhile; then return what happened.

        A run that failed is left to its backoff, so a pass ends even where something fails for ever.
        """
        self._watching = False
        self._work(lambda: None)
        return self.report

    def leave_to_backoff(self) -> None:
        """From now on take only what is due: what was not has had its turn in this session."""
        self._boot = False

    def watch(self, poll: float) -> Report:
        """Carry runs on until told to stop, looking for due ones every `poll` seconds."""
        self._watching = True
        maintained = time.monotonic()

        def pause() -> bool | None:
            nonlocal maintained
            if self.shutdown.stopping():
                return None
            if time.monotonic() - maintained > _MAINTAIN_EVERY:
                maintained = time.monotonic()
                self._maintain_if_it_answers()
            self._wait_until_due(poll)
            return not self.shutdown.stopping() or None

        self._work(pause)
        return self.report

    def _maintain_if_it_answers(self) -> None:
        try:
            self.maintain()
        except Error as error:
            connections.close_all()
            logger.warning("maintenance failed, again in a while error=%s", str(error).partition("\n")[0])

    def wake(self) -> None:
        """Make every idle worker look at once."""
        with self._change:
            self._change.notify_all()

    def wake_one(self) -> None:
        """Let one idle worker look at once."""
        with self._change:
            self._change.notify()

    # Threads -----------------------------------------------------------------------------------------------------

    def _work(self, pause: Callable[[], bool | None]) -> None:
        if self.threads == 1:
            self._worker(pause)
        else:
            workers = [
                threading.Thread(target=self._in_thread, args=(pause,), name=f"durable-{n + 1}", daemon=True)
                for n in range(self.threads)
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                while worker.is_alive():
                    worker.join(timeout=1.0)  # a bounded wait lets the main thread handle signals
        if self._raised is not None:
            raise self._raised

    def _in_thread(self, pause: Callable[[], bool | None]) -> None:
        try:
            self.limit_connections()
            self._worker(pause)
        except BaseException as error:  # noqa: BLE001 - handed to the main thread, which raises it
            self._raised = self._raised or error
            self.shutdown.asked.set()
        finally:
            connections.close_all()
            self.wake()

    def _worker(self, pause: Callable[[], bool | None]) -> None:
        """Claim and carry on until `pause` says there will be nothing more (None)."""
        at_once = 1
        while not self.shutdown.stopping():
            try:
                batch = self._claim(at_once)
            except Error as error:
                connections.close_all()
                logger.warning("claiming failed error=%s", str(error).partition("\n")[0])
                if pause() is None:
                    raise
                continue
            if not batch:
                at_once = 1
                if pause() is None:
                    return
                continue
            self.wake_one()  # where there was one there may be more
            began = time.monotonic()
            self._carry_on(batch)
            quick = (time.monotonic() - began) / len(batch) < _QUICK
            at_once = min(_MOST_AT_ONCE, at_once * 2) if quick else 1

    def _carry_on(self, batch: list[tuple[Any, Claim]]) -> None:
        for run, right in batch:
            self.shutdown.took(run, right)
            heartbeat.hold(right, functools.partial(self._let_others, run, right))
        try:
            for run, right in batch:
                if right.lost:
                    continue
                if self.shutdown.stopping():
                    self._give_back(run, right)
                    continue
                outcome = attempt(run, right, should_stop=self.shutdown.stopping)
                self.shutdown.gave_back(right)
                self._count(run, outcome)
        finally:
            for _, right in batch:
                heartbeat.let_go(right)
                self.shutdown.gave_back(right)

    def _give_back(self, run: Any, right: Claim) -> None:
        try:
            right.release(attempts=max(0, run.attempts - 1))
        except LostLease:
            logger.info("lease lost kind=%s pk=%s fence=%s", run._meta.label_lower, run.pk, right.fence)
        self._count(run, Outcome.INTERRUPTED)

    def _let_others(self, run: Any, right: Claim) -> None:
        """Give back a run that waits behind a slow one, as if this pass had not touched it."""
        right.release(attempts=max(0, run.attempts - 1), updated_at=self._began[right.alias])
        self._old.add(type(run))
        self.wake()

    def _count(self, run: Any, outcome: Outcome) -> None:
        with self._change:
            self.report.outcomes[outcome] += 1
        if self._on_outcome is not None:
            self._on_outcome(run, outcome)

    # Finding work ------------------------------------------------------------------------------------------------

    def _claim(self, at_once: int) -> list[tuple[Any, Claim]]:
        """Take runs of the first kind that has any, beginning with the next kind each time, so that none starves."""
        with self._change:
            self._turn += 1
            turn = self._turn
            if self._left is not None:
                at_once = min(at_once, self._left)
                self._left -= at_once  # reserved: threads claim side by side
        if at_once < 1:
            return []
        taken = 0
        try:
            for number in range(len(self.models)):
                model, alias = self.models[(turn + number) % len(self.models)]
                batch = self._claim_of(model, alias, at_once)
                if batch:
                    taken = len(batch)
                    return batch
            return []
        finally:
            with self._change:
                if self._left is not None:
                    self._left += at_once - taken

    def _claim_of(self, model: type[Any], alias: str, at_once: int) -> list[tuple[Any, Claim]]:
        also = model.can_carry_out()
        if model in self._old:
            batch = self._take(
                model, alias, at_once, Taking(ahead=self._boot, untouched_since=self._began[alias], also=also)
            )
            if batch:
                return batch
            self._old.discard(model)
        # A pass takes what began meanwhile; what it has taken before is left to the next one.
        return self._take(model, alias, at_once, Taking(also=also if self._watching else (*also, ("fence", 0))))

    def _take(self, model: type[Any], alias: str, at_once: int, taking: Taking) -> list[tuple[Any, Claim]]:
        with patience(alias, self._lease):
            return claim(model, using=alias, owner=self._owner, lease=self._lease, limit=at_once, taking=taking)

    def _wait_until_due(self, poll: float) -> None:
        """Wait until a look finds something due. One thread looks, the others sleep until it, or a finished run, calls."""
        with self._change:
            if self._looking:
                self._change.wait(timeout=poll * 5)
                return
            self._looking = True
        try:
            while not self.shutdown.stopping():
                with self._change:
                    # Jittered: a fleet started together must not ask together.
                    if self._change.wait(timeout=poll * random.uniform(0.75, 1.25)):  # noqa: S311
                        return
                if self._anything_due():
                    return
        finally:
            with self._change:
                self._looking = False
                self._change.notify()  # somebody else must look while this one works

    def _anything_due(self) -> bool:
        try:
            return any(self._due_on(alias) for alias in {alias for _, alias in self.models})
        except Error as error:
            logger.warning("looking failed, trying again error=%s", str(error).partition("\n")[0])
            connections.close_all()
            return False

    def _due_on(self, alias: str) -> bool:
        """Ask for all kinds of an alias in one statement."""
        looks, params = [], []
        for model, its_alias in self.models:
            if its_alias == alias:
                due = model._base_manager.using(alias).filter(
                    Taking(also=model.can_carry_out()).condition(model.MACHINE)
                )
                sql, values = due.order_by().values("pk")[:1].query.get_compiler(using=alias).as_sql()
                looks.append(f"EXISTS ({sql})")
                params += values
        with patience(alias, self._lease), connections[alias].cursor() as cursor:
            cursor.execute(f"SELECT {' OR '.join(looks)}", params)
            return bool(cursor.fetchone()[0])
