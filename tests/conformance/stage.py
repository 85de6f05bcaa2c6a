"""
The stage: hands on one run, of which exactly one moves at a time, in the order that a schedule says.

Whether a hand waits for a row lock is a fact read from pg_stat_activity and pg_blocking_pids, never guessed from time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection

from tests.gates import give_up, settle

from .far_side import FAR_SIDE
from .hands import Hand
from .oracle import Doer, check_end, check_event, check_state
from .sights import Sight, look
from .subjects import Subject
from .verbs import carry_on

__all__ = ["Cast", "Deadlocked", "Stage"]


class Deadlocked(AssertionError):
    """Every hand waits for another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """One hand's part: who it is, and what it does."""

    doer: Doer
    work: Callable[[Any, Hand], Any]  # given the scene and the hand
    lose_answers: frozenset[int] = frozenset()


class Scene:
    """What the hands of one schedule share: the run, and the claims made so far."""

    def __init__(self, subject: Subject, pk: Any) -> None:
        self.subject = subject
        self.pk = pk
        self.rights: dict[str, Any] = {}  # by the name of who claimed


class Stage:
    """Plays one schedule after another on the same hands and connections."""

    def __init__(self, subject: Subject, hands: int) -> None:
        self.subject = subject
        self._arrived = threading.Semaphore(0)
        self.hands = [Hand(number, subject.model._meta.db_table, self._arrived) for number in range(hands)]
        self.ever_blocked = 0
        self.ends: set[str] = set()

    def close(self) -> None:
        for hand in self.hands:
            hand.leave()

    def play(self, parts: list[Cast], run: Any, choose: Callable[[int, Any, list[str]], int | None], skip: int) -> bool:
        """
        Play one schedule.

        Args:
            parts: one for each hand.
            run: a fresh run.
            choose: given the depth, the state and the names of who may go on, answers which; None gives it up.
            skip: the first events, which were judged when they were first played.

        Returns:
            Whether it was played to its end.
        """
        scene = Scene(self.subject, run.pk)
        hands = self.hands[: len(parts)]
        for hand, part in zip(hands, parts, strict=True):
            hand.rest()
            hand.doer = Doer(part.doer.name, staff=part.doer.staff, clock=part.doer.clock)
            hand.lose_answers = set(part.lose_answers)
            self._go(hand, lambda part=part, hand=hand: part.work(scene, hand), hands)
        with self._given_up_at_last(hands, run.pk):
            return self._play(hands, run.pk, choose, skip)

    def _play(self, hands: list[Hand], pk: Any, choose: Any, skip: int) -> bool:
        sight: Sight | None = None
        depth = 0
        while True:
            able = [hand for hand in hands if hand.place == "gate"]
            if not able:
                break
            judged = depth >= skip
            if judged and sight is None:
                sight = look(self.subject, pk)
            state = (sight.state(), tuple(hand.local() for hand in hands)) if judged and sight else None
            chosen = choose(depth, state, [f"{hand.doer.name}: {hand.pending}" for hand in able])
            if chosen is None:
                return False
            hand = able[chosen]
            self._go(hand, None, hands)
            if sum(one.blocked for one in hands) > 1:
                # Which of two waiters goes first is PostgreSQL's choice, not ours. The schedule in which the second one
                # asks later has the same outcomes, and is played too.
                return False
            if judged and sight is not None:
                sight = self._judge(pk, sight, hand)
            depth += 1
        if any(hand.blocked for hand in hands):
            waiting = ", ".join(f"{hand.doer.name} at {hand.pending}" for hand in hands if hand.blocked)
            raise Deadlocked(waiting)
        for hand in hands:
            if hand.error is not None:
                raise AssertionError(f"{hand.doer.name} raised {hand.error!r}") from hand.error
        self._finish(pk, sight or look(self.subject, pk))
        return True

    def _finish(self, pk: Any, sight: Any) -> None:
        """Leave the run to boot passes, once for each state that schedules end in."""
        state = sight.state()
        if state not in self.ends:
            self.ends.add(state)
            check_end(self.subject, pk, lambda pk: carry_on(self.subject, pk, "the boot pass") is not None)

    def _judge(self, pk: Any, before: Sight, hand: Hand) -> Sight:
        after = look(self.subject, pk)
        if after is None:
            raise AssertionError(f"{hand.doer.name} deleted an open run")
        check_event(self.subject, before, after, hand.doer)
        check_state(self.subject, after)
        return after

    # Moving ------------------------------------------------------------------------------------------------------

    def _go(self, hand: Hand, work: Callable[[], Any] | None, hands: list[Hand]) -> None:
        """Let one hand go on, and wait until every hand is at a gate, idle, waiting, or blocked by the database."""
        if work is not None:
            hand.order(work)
        else:
            hand.go_on()
        while True:
            self._settle(hands)
            ready = next((one for one in hands if one.place == "waiting" and one.ready()), None)
            if ready is None:
                return
            ready.go_on()

    def _settle(self, hands: list[Hand]) -> None:
        self.ever_blocked += settle(hands, self._arrived)

    @contextlib.contextmanager
    def _given_up_at_last(self, hands: list[Hand], pk: Any) -> Iterator[None]:
        try:
            yield
        finally:
            give_up(hands, self._arrived)
            self._wipe(pk)

    def _wipe(self, pk: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM conformance_trace WHERE run = %s", [pk])
            cursor.execute(f"DELETE FROM {self.subject.model._meta.db_table} WHERE id = %s", [pk])
        FAR_SIDE.forget(pk)
