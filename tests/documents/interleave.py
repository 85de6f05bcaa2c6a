"""
Every order of two or three writers, statement by statement, against a real database.

Each writer is a hand (hands.py), and exactly one of them moves at a time. All schedules are walked, each played
anew from its beginning. Where one comes to a state that was seen before (the same rows, every hand at the same place with
the same past) what can follow is explored already, and it is given up there. Every state that others can see is judged.

Whether a hand waits for a row lock is a fact read from pg_stat_activity, never guessed from time. Where two wait at once,
PostgreSQL says who is next, not we: such a schedule is played to its end and judged, and not branched any more. In the
one where the second asks later it finds the same, and that is explored.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.gates import give_up, settle

from .hands import Hand
from .oracle import check_step, look

__all__ = ["Explored", "Scene", "explore"]

#: Returns what each writer does, and a judge of what each returned or raised.
Scene = Callable[[], tuple[dict[str, Callable[[], object]], Callable[[dict[str, object]], None]]]

LOT = random.Random()  # the same for every scene, so that a schedule at the bound is met again


@dataclass(slots=True)
class Explored:
    """What was explored."""

    schedules: int = 0  # played, whole or until a state seen before
    whole: int = 0  # played to their end, and judged
    states: int = 0  # distinct
    waits: int = 0  # how often a hand waited for a row lock
    seconds: float = 0.0
    complete: bool = True  # False: stopped at the bound
    ends: set[object] = field(default_factory=set)

    def __str__(self) -> str:
        bound = "" if self.complete else " (stopped at the bound)"
        return (
            f"{self.schedules} schedules ({self.whole} whole), {self.states} states, {self.waits} lock waits, "
            f"{len(self.ends)} ends in {self.seconds:.1f} s{bound}"
        )


def explore(scene: Scene, clean: Callable[[], None], *, most: int = 100_000, merge: bool = True) -> Explored:
    """
    Play every schedule of a scene, `most` at the most. `merge=False` plays each to its end, through states seen before.

    Raise AssertionError with the schedule in its notes.
    """
    found, stage = Explored(), Stage()
    LOT.seed(0)
    began = time.monotonic()
    seen: set[object] | None = set() if merge else None
    todo: list[Path] = [Path()]
    try:
        while todo and found.schedules < most:
            clean()
            works, judge = scene()
            path = Path()
            try:
                results = stage.play(works, Chooser(path, todo, seen))
                if results is not None:
                    judge(results)
                    found.whole += 1
                    found.ends.add(look().state())
            except AssertionError as error:
                error.add_note("the schedule:\n  " + "\n  ".join(path.choices))
                raise
            found.schedules += 1
    finally:
        stage.close()
    found.states, found.waits, found.complete = len(seen or ()), stage.waits, not todo
    found.seconds = time.monotonic() - began
    return found


@dataclass(slots=True)
class Path:
    """A beginning of a schedule: who went, and the states it went from. They are not looked at again when it is replayed."""

    choices: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)


class Chooser:
    """Says who goes next: as before, as long as there is a before; then whoever is first, and the others later."""

    def __init__(self, path: Path, todo: list[Path], seen: set[object] | None) -> None:
        self._path, self._todo, self._seen = path, todo, seen
        # Anywhere, not at the end: what is left out at a bound should not all begin alike.
        self._before = todo.pop(LOT.randrange(len(todo)))

    def known(self) -> str | None:
        """Return the state that this schedule is in, where it was looked at before and is not about to be left."""
        depth = len(self._path.choices)
        return self._before.states[depth] if depth < len(self._before.choices) - 1 else None

    def choose(self, state: str, whole: object, able: list[str], *, free: bool) -> str | None:
        """Return who goes, or None to give the schedule up. `whole` is the state and where every hand is."""
        path, before, depth = self._path, self._before, len(self._path.choices)
        path.states.append(state)
        choice = able[0]
        if depth < len(before.choices):
            choice = before.choices[depth]
            assert choice in able, f"not deterministic: {choice!r} is not among {able}"
            assert state == before.states[depth], "not deterministic: the same steps led to another state"
        elif free:
            if self._seen is not None and whole in self._seen:
                return None
            if self._seen is not None:
                self._seen.add(whole)
            self._todo.extend(Path([*path.choices, other], [*path.states]) for other in able[1:])
        path.choices.append(choice)
        return choice


class Stage:
    """Plays one schedule after another on the same hands and connections."""

    def __init__(self) -> None:
        self._arrived = threading.Semaphore(0)
        self._hands: list[Hand] = []
        self.waits = 0

    def close(self) -> None:
        """End all hands."""
        for hand in self._hands:
            hand.leave()

    def play(self, works: dict[str, Callable[[], object]], chooser: Chooser) -> dict[str, object] | None:
        """Play one schedule; return what each writer returned or raised, or None where it was given up."""
        while len(self._hands) < len(works):
            self._hands.append(Hand(len(self._hands), self._arrived))
        hands = self._hands[: len(works)]
        for hand, (name, work) in zip(hands, works.items(), strict=True):
            hand.rest(name)
            hand.order(work)
            self._settle(hands)
        try:
            return self._play(hands, chooser)
        finally:
            give_up(hands, self._arrived)

    def _play(self, hands: list[Hand], chooser: Chooser) -> dict[str, object] | None:
        free, sight = True, None
        state = chooser.known()
        if state is None:
            sight = look()
            state = sight.state()
        while able := {f"{hand.writer}: {hand.pending}": hand for hand in hands if hand.place == "gate"}:
            whole = (state, tuple((hand.place, hand.pending, hand.past, hand.blocked) for hand in hands))
            chosen = chooser.choose(state, whole, list(able), free=free)
            if chosen is None:
                return None
            able[chosen].remember(chosen, state)
            able[chosen].go_on()
            self._settle(hands)
            free &= sum(hand.blocked for hand in hands) < 2
            if (state := chooser.known()) is None:
                before, sight = sight, look()
                state = sight.state()
                if before is not None:
                    check_step(before, sight)
            for hand in hands:
                if hand.did:
                    hand.remember(*hand.did, state)
                    hand.did.clear()
        waiting = [f"{hand.writer} at {hand.pending}" for hand in hands if hand.blocked]
        assert not waiting, f"each waits for another: {waiting}"
        return {hand.writer: hand.result for hand in hands}

    def _settle(self, hands: list[Hand]) -> None:
        self.waits += settle(hands, self._arrived)
