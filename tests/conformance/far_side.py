"""
The far side: the world outside the database, and what the bodies of a run are told to do there.

It remembers every call, with the key that came with it and the fence of the claim under which it was made. A script says,
for one run and one step, what the next starts of its body end in; without a script they succeed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from durable import Refused, Wait

__all__ = ["FAR_SIDE", "Call", "FarSide", "Paused"]


class Paused(BaseException):
    """The thread stops here, in the middle of a step; perhaps it wakes up, perhaps it was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that reached the outside world."""

    step: str
    key: str
    fence: int  # of the claim under which the body ran, as the run was read by it


class FarSide:
    """What happened outside, per run; and the scripts. Used from many threads."""

    def __init__(self) -> None:
        self._calls: dict[Any, list[Call]] = defaultdict(list)
        self._scripts: dict[tuple[Any, str], deque[BaseException]] = defaultdict(deque)
        self.begun: list[tuple[Any, str]] = []  # database steps whose body was begun, committed or not
        self.before_call: Callable[[str], None] = lambda step: None  # a scheduler's gate

    def call(self, run: Any, step: str, key: str) -> str:
        """Take one call. Return a handle: the same for the same key, as an honest API does."""
        self.before_call(step)
        if any(isinstance(end, Paused) for end in self._scripts.get((run.pk, step), ())):
            self.follow(run, step)  # before the call: a thread that wakes up makes it once, not again
        self._calls[run.pk].append(Call(step=step, key=key, fence=run.fence))
        return f"handle of {step}"

    def calls(self, pk: Any) -> tuple[Call, ...]:
        """Return every call made for that run, in order."""
        return tuple(self._calls.get(pk, ()))

    def script(self, pk: Any, step: str, *ends: BaseException) -> None:
        """Let the next starts of that step's body end so, one after the other."""
        self._scripts[pk, step].extend(ends)

    def refuse(self, run: Any, step: str) -> None:
        """Raise what the script says if it is a no: nothing was done, so nothing is remembered."""
        script = self._scripts.get((run.pk, step))
        if script and isinstance(script[0], Wait | Refused):
            raise script.popleft()

    def follow(self, run: Any, step: str) -> None:
        """Raise what the script says, if it says anything. Called at the end of a body."""
        script = self._scripts.get((run.pk, step))
        if script:
            raise script.popleft()

    def unscript(self, pk: Any) -> None:
        """Drop what is left of that run's scripts."""
        for known in [key for key in self._scripts if key[0] == pk]:
            del self._scripts[known]

    def forget(self, pk: Any) -> None:
        """Drop what is remembered of that run."""
        self._calls.pop(pk, None)
        self.unscript(pk)


FAR_SIDE = FarSide()
