"""
Calls: which operations of others this code can begin and look at, and how.

A kind is registered when its module is imported: `polling.py` in any installed app. An operation names its kind only, so
it outlives the code; without it, it waits and is reported.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from .backoff import Backoff
from .durations import seconds_of

__all__ = [
    "Accepted",
    "CallError",
    "Canceled",
    "ExternalCall",
    "Failed",
    "Kind",
    "Pending",
    "Succeeded",
    "find",
    "forget",
    "known",
    "register",
]

C = TypeVar("C", bound="type[ExternalCall]")

_LONGEST_NAME = 100
_JITTER = 0.15
_kinds: dict[str, Kind] = {}


class CallError(TypeError):
    """A kind of operation was declared wrongly. Raised when the module is imported, with what to write instead."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The far side took the operation: the handle it is known by, and the first status it showed."""

    handle: str
    status: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """It is not over. Whatever the far side calls it, a word we do not know included, is kept and shown."""

    status: str = ""
    next_in: float | None = None  # seconds until the next look; None: as registered


@dataclass(frozen=True, slots=True)
class Succeeded:
    """It is over, and done."""

    result: Any = None  # JSON, kept on the operation
    status: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """It is over, and was not done: the far side says so, and says that it will not try again by itself."""

    reason: str
    status: str = ""


@dataclass(frozen=True, slots=True)
class Canceled:
    """It is over: the far side gave it up, because we asked or somebody else did."""

    reason: str = ""
    status: str = ""


class ExternalCall:
    """
    How the operations of one kind are begun and looked at. Subclass it; one instance serves all threads.

    Every method is called outside any transaction, by one process at a time, under the kind's timeout; give your client a
    shorter one. `op` has `key`, `payload`, `handle`, `begun_at`, `seen`.
    """

    def begin(self, op: Any) -> str | Accepted:
        """
        Ask the far side to begin. Called at most once, unless the far side takes our key (`keyed=True`).

        Return the handle it gave. Raise `RetryAfter` or `Wait` where it said *not now*, `Refused` where it said *never*,
        `NotConfigured` before it was asked at all: each means that nothing was begun. After anything else, a timeout for
        one, nobody knows, and it is looked for with `find`.
        """
        raise NotImplementedError

    def find(self, op: Any) -> str | Accepted | None:
        """Look the operation up by our key, after a crash in `begin`. None: it is not there. Override it if you can."""
        raise NotImplementedError

    def poll(self, op: Any) -> Pending | Succeeded | Failed | Canceled:
        """
        Look once. An exception is a failure of the look, never of the operation; `RetryAfter` is honoured.

        `Refused` says that no look will ever tell (the handle is not known any more): then a person must.
        """
        raise NotImplementedError

    def cancel(self, op: Any) -> None:
        """Ask the far side to give it up; how it ended is for `poll` to say. `Refused`: too late. Override it if you can."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of operation, as registered."""

    name: str
    call: ExternalCall
    every: float  # seconds between two looks
    give_up_after: float  # seconds until nobody looks any more and a person must
    keyed: bool  # the far side takes our key: begun again under it, it begins nothing new
    timeout: float  # seconds a call may take
    find_for: float  # seconds during which it is looked for, where nobody knows whether it was begun
    backoff: Backoff  # spacing of looks that fail

    @property
    def place(self) -> str:
        """Where it stands in the code, for people."""
        return f"{type(self.call).__module__}.{type(self.call).__qualname__}"

    @property
    def can_find(self) -> bool:
        return type(self.call).find is not ExternalCall.find

    @property
    def can_cancel(self) -> bool:
        return type(self.call).cancel is not ExternalCall.cancel

    def pause(self) -> float:
        """Return the seconds until the next look, jittered: a fleet of operations must not ask together."""
        return self.every * (1.0 + _JITTER * random.random())  # noqa: S311 - spread, not secrecy


def register(
    name: str,
    *,
    every: float,
    give_up_after: float | timedelta,
    keyed: bool = False,
    timeout: float = 30.0,
    find_for: float | timedelta = 60.0,
    backoff: Backoff | None = None,
) -> Callable[[C], C]:
    """
    Register the class that begins and watches the operations of a kind.

    Args:
        name: 1 to 100 characters; what `start()` names.
        every: seconds between two looks.
        give_up_after: how long it is watched. Then it is `unknown`, never `failed`: silence is no answer.
        keyed: the far side takes `op.key` as an idempotency key, so that `begin` may be called again under it.
        timeout: seconds a call may take. After it the lease is no longer renewed and another worker may look.
        find_for: how long it is looked for after a crash in `begin`, while the far side may still be taking it.
        backoff: spacing of looks that fail; by default from `every` up to five minutes.

    Raises:
        CallError: at import, for anything that could not work, or a second class of the kind.
    """
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or "\x00" in name:
        message = f"a kind of operation is a text of 1 to {_LONGEST_NAME} characters, not {name!r:.120}"
        raise CallError(message)
    seconds = {
        "every": _seconds(name, "every", every),
        "give_up_after": _seconds(name, "give_up_after", give_up_after),
        "timeout": _seconds(name, "timeout", timeout),
        "find_for": _seconds(name, "find_for", find_for, least=0.0),
    }

    def decorate(declared: C) -> C:
        if not isinstance(declared, type) or not issubclass(declared, ExternalCall):
            message = f"@polling.register({name!r}) decorates a subclass of polling.ExternalCall, not {declared!r:.120}"
            raise CallError(message)
        for method in ("begin", "poll"):
            if getattr(declared, method) is getattr(ExternalCall, method):
                message = f"{declared.__qualname__} has no {method}(): an operation of {name!r} needs one."
                raise CallError(message)
        spacing = backoff or Backoff(base=seconds["every"], factor=2, cap=max(300.0, seconds["every"]))
        made = Kind(name=name, call=declared(), keyed=keyed, backoff=spacing, **seconds)
        before = _kinds.get(name)
        if before is not None and before.place != made.place:
            message = f"the kind {name!r} has two classes: {before.place} and {made.place}. Rename one."
            raise CallError(message)
        _kinds[name] = made
        return declared

    return decorate


def find(name: str) -> Kind | None:
    """Return the kind of that name, or None where this code has none."""
    return _kinds.get(name)


def known() -> list[Kind]:
    """Return every kind of this code, by name."""
    return [_kinds[name] for name in sorted(_kinds)]


def forget(name: str) -> None:
    """Take a kind away. For tests: its operations wait, as they do when a deploy drops it."""
    _kinds.pop(name, None)


def _seconds(name: str, option: str, value: Any, *, least: float = 0.001) -> float:
    seconds = seconds_of(value)
    if seconds is None or seconds < least:
        message = f"@polling.register({name!r}, {option}={value!r}): give seconds, or a timedelta, from {least:g} up."
        raise CallError(message)
    return seconds
