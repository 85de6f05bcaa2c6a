"""
Runner: the only loop. A boot pass carries on what was interrupted and what is due, then ends; a watch goes on for ever.

Each worker thread claims for itself, from one lane after the other, so a slow run holds up no other. While there is
nothing to do one thread of the process looks, once per poll, with one statement for all kinds.
"""

from __future__ import annotations

import collections
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from django.db import Error, connections

from . import clock, heartbeat, kinds
from .attempt import Outcome, attempt
from .conf import setting
from .contract import Claim, Taking, claim, look
from .errors import LostLease
from .lanes import Lane
from .owner import current
from .patience import limit_connection, patience
from .shutdown import Shutdown
from .takeover import take_over

__all__ = ["Reconciler", "Report"]

logger = logging.getLogger("durable")

_MAINTAIN_EVERY = 60.0  # seconds between two looks for what no claimer sees
#: Seconds a run may take, and how many of such are worth claiming at a time.
_QUICK, _MOST_AT_ONCE = 0.05, 16
_INSTANT, _MOST_OF_THOSE = 0.005, 64
_SLOW = 1.0  # seconds a run takes in a lane that should leave a thread to others


@dataclass(frozen=True, slots=True)
class _Queue:
    """One lane of one kind."""

    model: type[Any]
    alias: str
    lane: Lane

    @property
    def name(self) -> tuple[type[Any], str]:
        return (self.model, self.lane.name)


@dataclass(slots=True)
class _Pace:
    """What this process has seen of a lane."""

    at_once: int = 1  # runs worth claiming at a time
    took: float | None = None  # seconds the last run took; None: none has ended yet
    in_hand: int = 0  # threads that are busy with it

    @property
    def is_quick(self) -> bool:
        return self.took is not None and self.took < _SLOW


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
        on_maintain: called with every look for what no claimer sees, once a minute while watching.
        lanes: of these kinds, only the lanes of those names.
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
        on_maintain: Callable[[], None] | None = None,
        lanes: Mapping[type[Any], frozenset[str]] = MappingProxyType({}),
    ) -> None:
        self._lanes = lanes
        self.models = [(model, kinds.alias_of(model)) for model in models]
        self.shutdown = shutdown
        self.threads = threads
        self.report = Report()
        self._boot = boot
        self._left = limit
        self._on_outcome = on_outcome
        self._on_maintain = on_maintain
        self._owner = str(current())
        self._lease = float(setting("LEASE"))
        self._began: dict[str, Any] = {}  # alias → when this process began to look, by its database's clock
        self._seen: set[tuple[type[Any], str]] = set()  # lanes whose runs from before that have all been taken once
        self._paces: collections.defaultdict[tuple[type[Any], str], _Pace] = collections.defaultdict(_Pace)
        self._lock = threading.RLock()
        self._change = threading.Condition(self._lock)
        self._looking = False
        self._watching = False
        self._turn = 0
        self._raised: BaseException | None = None
        shutdown.wakes(self.wake)

    def prepare(self) -> None:
        """Take over from the dead of this host, mend what no claimer would see, and note when this pass began."""
        self._seen.clear()
        for model, alias in self.models:
            with patience(alias, self._lease):
                self.report.taken_over += take_over(model, alias)
                model.at_boot(alias, self._lanes.get(model))
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
        if self._on_maintain is not None:
            self._on_maintain()

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
        while not self.shutdown.stopping():
            try:
                queue, batch = self._claim()
            except Error as error:
                connections.close_all()
                logger.warning("claiming failed error=%s", str(error).partition("\n")[0])
                if pause() is None:
                    raise
                continue
            if queue is None:
                if pause() is None:
                    return
                continue
            self.wake_one()  # where there was one there may be more
            began = time.monotonic()
            try:
                self._carry_on(queue, batch)
            finally:
                self._learn(queue, (time.monotonic() - began) / len(batch))

    def _learn(self, queue: _Queue, took: float) -> None:
        with self._change:
            pace = self._paces[queue.name]
            pace.in_hand -= 1
            pace.took = took
            most = _MOST_OF_THOSE if took < _INSTANT else _MOST_AT_ONCE if took < _QUICK else 1
            pace.at_once = min(most, pace.at_once * 2)

    def _carry_on(self, queue: _Queue, batch: list[tuple[Any, Claim]]) -> None:
        runs, together = {right: run for run, right in batch}, queue.lane.together and not self.shutdown.stopping()
        left = list(reversed(batch))
        self.shutdown.took(runs)
        if not together:
            heartbeat.hold(*runs, give_back=lambda right: self._let_others(queue, runs[right], right))
        try:
            if together:
                left = self._together(queue, batch)  # after this each must be concluded, asked to stop or not
            while left and (together or not self.shutdown.stopping() or left[-1][0].begun_ahead is not None):
                run, right = left.pop()
                if right.lost and not together:
                    continue
                run.following = left[-1] if left and not together else None
                outcome = attempt(run, right, should_stop=self.shutdown.stopping)
                self.shutdown.gave_back(right)
                self._count(outcome, run)
        finally:
            for run, right in reversed(left):
                if not right.lost:
                    self._give_back(run, right)
            heartbeat.let_go(*runs)
            self.shutdown.gave_back(*runs)

    def _together(self, queue: _Queue, batch: list[tuple[Any, Claim]]) -> list[tuple[Any, Claim]]:
        """Carry a batch on in one go. Return what is left to be concluded one by one, the last first."""
        settled = queue.model.together(batch)
        self.shutdown.gave_back(*settled)
        if settled:
            self._count(Outcome.DONE, *(run for run, right in batch if right in settled))
        return [pair for pair in reversed(batch) if pair[1] not in settled]

    def _give_back(self, run: Any, right: Claim) -> None:
        try:
            run.give_back(right, attempts=max(0, run.attempts - 1))
        except LostLease:
            logger.info("lease lost kind=%s pk=%s fence=%s", run._meta.label_lower, run.pk, right.fence)
        self._count(Outcome.INTERRUPTED, run)

    def _let_others(self, queue: _Queue, run: Any, right: Claim) -> None:
        """Give back a run that waits behind a slow one, as if this pass had not touched it."""
        run.give_back(right, attempts=max(0, run.attempts - 1), updated_at=self._began[right.alias])
        self._seen.discard(queue.name)
        self.wake()

    def _count(self, outcome: Outcome, *runs: Any) -> None:
        with self._lock:
            self.report.outcomes[outcome] += len(runs)
        if self._on_outcome is not None:
            for run in runs:
                self._on_outcome(run, outcome)

    # Finding work ------------------------------------------------------------------------------------------------

    def _claim(self) -> tuple[_Queue | None, list[tuple[Any, Claim]]]:
        """Take runs of the first lane that has any, beginning with the next lane each time, so that none starves."""
        queues = self._queues()
        with self._change:
            self._turn += 1
            turn = self._turn
        for number in range(len(queues)):
            if self.shutdown.stopping():  # meanwhile: what this process gives back now is not for it to take again
                break
            queue = queues[(turn + number) % len(queues)]
            most = self._enter(queue, alone=len(queues) == 1)
            if most < 1:
                continue
            batch = []
            try:
                batch = self._claim_of(queue, most)
            finally:
                self._entered(queue, most, len(batch))
            if batch:
                return queue, batch
        return None, []

    def _queues(self) -> list[_Queue]:
        return [
            _Queue(model, alias, lane)
            for model, alias in self.models
            for lane in model.lanes(alias)
            if lane.name in self._lanes.get(model, (lane.name,))
        ]

    def _enter(self, queue: _Queue, *, alone: bool) -> int:
        """Return how many runs this thread may take from that lane now, and count it as busy with it."""
        with self._change:
            pace, lane = self._paces[queue.name], queue.lane
            at_once = lane.most or _MOST_AT_ONCE if lane.together else min(pace.at_once, lane.most or pace.at_once)
            if self._left is not None:
                at_once = min(at_once, self._left)
            if at_once < 1 or (lane.yields and not alone and not self._leaves_a_thread(pace)):
                return 0
            if self._left is not None:
                self._left -= at_once
            pace.in_hand += 1
            return at_once

    def _leaves_a_thread(self, pace: _Pace) -> bool:
        """No lane ever holds every thread, nor do the slow ones together. One without an end so far may be slow too."""
        if self.threads == 1:
            return True
        doubtful = sum(other.in_hand for other in self._paces.values() if not other.is_quick)
        if pace.is_quick or (pace.took is None and pace.in_hand == 0):
            return pace.in_hand < self.threads - 1
        return doubtful < self.threads - 1

    def _entered(self, queue: _Queue, most: int, taken: int) -> None:
        with self._change:
            if self._left is not None:
                self._left += most - taken
            if not taken:
                self._paces[queue.name].in_hand -= 1

    def _claim_of(self, queue: _Queue, at_once: int) -> list[tuple[Any, Claim]]:
        if queue.lane.admission is None:
            return self._claim_in(queue, at_once)
        with queue.lane.admission() as room:
            batch = self._claim_in(queue, min(at_once, room.left))
            room.took(batch)
        return batch

    def _claim_in(self, queue: _Queue, at_once: int) -> list[tuple[Any, Claim]]:
        model, alias, lane = queue.model, queue.alias, queue.lane
        if queue.name not in self._seen:
            ahead = self._boot and not model.PATIENT
            before = lane.taking(ahead=ahead, untouched_since=self._began[alias])
            batch = self._take(model, alias, at_once, before)
            if batch or at_once < 1:
                return batch
            self._seen.add(queue.name)
        # A pass takes what began meanwhile; what it has taken before is left to the next one.
        return self._take(model, alias, at_once, lane.taking() if self._watching else lane.taking(("fence", 0)))

    def _take(self, model: type[Any], alias: str, at_once: int, taking: Taking) -> list[tuple[Any, Claim]]:
        with patience(alias, self._lease):
            lease = model.lease_seconds()
            return claim(model, using=alias, owner=self._owner, lease=lease, limit=at_once, taking=taking)

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
        for queue in self._queues():
            if queue.alias == alias:
                sql, values = look(queue.model, using=alias, taking=queue.lane.taking())
                looks.append(f"({sql}) IS NOT NULL")
                params += values
        if not looks:
            return False
        with patience(alias, self._lease), connections[alias].cursor() as cursor:
            cursor.execute(f"SELECT {' OR '.join(looks)}", params)
            return bool(cursor.fetchone()[0])
