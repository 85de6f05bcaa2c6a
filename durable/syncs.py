"""
Syncs: which passes over rows this code can make, and how. Registered by `passes.py` in any installed app.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from django.db.models import QuerySet

from .durations import seconds_of

__all__ = ["PassError", "Registered", "SyncPass", "find", "forget", "known", "register"]

C = TypeVar("C", bound="type[SyncPass]")

_LONGEST_NAME = 100
_passes: dict[str, Registered] = {}


class PassError(TypeError):
    """A pass was declared wrongly. Raised when the module is imported, with what to write instead."""


class SyncPass:
    """
    One idempotent pass over rows against an authority. Subclass it; one instance serves the process.

    It may be repeated at any time, and after a crash it repeats a few rows: `sync` must not mind.
    """

    def rows(self) -> QuerySet[Any]:
        """Return every row to be synced, in no order: they are taken by their key."""
        raise NotImplementedError

    def sync(self, row: Any) -> Any:
        """
        Bring one row in line. Return whether that changed it. Called outside any transaction.

        What it raises is that row's failure, and the next row follows. Only `Wait`, `RetryAfter` and `NotConfigured` stop
        the pass, which goes on with this very row later.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """One pass, as registered."""

    name: str
    call: SyncPass
    at_boot: bool  # a boot pass of `reconcile` makes it
    fresh_for: float  # seconds during which a boot leaves one alone that went well: eight hosts boot together
    every: float | None  # seconds after which a watching worker makes it again
    budget: float | None  # seconds of one go; the rest follows in the next
    timeout: float  # seconds a row may take

    @property
    def place(self) -> str:
        """Where it stands in the code, for people."""
        return f"{type(self.call).__module__}.{type(self.call).__qualname__}"


def register(
    name: str,
    *,
    at_boot: bool = True,
    fresh_for: float | timedelta = 60.0,
    every: float | timedelta | None = None,
    budget: float | timedelta | None = None,
    timeout: float = 60.0,
) -> Callable[[C], C]:
    """
    Register the class that makes a pass.

    Args:
        name: 1 to 100 characters; what `reconcile --kind` names.
        at_boot: let `reconcile` make it at each boot; False: only when it is asked for.
        fresh_for: a boot leaves it alone for so long after it went well; naming it with `--kind` does not.
        every: let `reconcile --watch` make it again so long after its last end.
        budget: how long it works in one go. What is left follows in the next, from where it stopped.
        timeout: seconds one row may take. After it the lease is no longer renewed, and another worker may go on.

    Raises:
        PassError: at import, for anything that could not work, or a second class of the name.
    """
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or "\x00" in name:
        message = f"a pass is named by a text of 1 to {_LONGEST_NAME} characters, not {name!r:.120}"
        raise PassError(message)

    def decorate(declared: C) -> C:
        if not isinstance(declared, type) or not issubclass(declared, SyncPass):
            message = f"@passes.register({name!r}) decorates a subclass of passes.SyncPass, not {declared!r:.120}"
            raise PassError(message)
        for method in ("rows", "sync"):
            if getattr(declared, method) is getattr(SyncPass, method):
                message = f"{declared.__qualname__} has no {method}(): the pass {name!r} needs one."
                raise PassError(message)
        made = Registered(
            name=name, call=declared(), at_boot=bool(at_boot),
            fresh_for=_seconds(name, "fresh_for", fresh_for, least=0.0) or 0.0,
            every=_seconds(name, "every", every), budget=_seconds(name, "budget", budget),
            timeout=_seconds(name, "timeout", timeout) or 60.0,
        )  # fmt: skip
        before = _passes.get(name)
        if before is not None and before.place != made.place:
            message = f"the pass {name!r} has two classes: {before.place} and {made.place}. Rename one."
            raise PassError(message)
        _passes[name] = made
        return declared

    return decorate


def find(name: str) -> Registered | None:
    """Return the pass of that name, or None where this code has none."""
    return _passes.get(name)


def known() -> list[Registered]:
    """Return every pass of this code, by name."""
    return [_passes[name] for name in sorted(_passes)]


def forget(name: str) -> None:
    """Take a pass away. For tests."""
    _passes.pop(name, None)


def _seconds(name: str, option: str, value: Any, *, least: float = 0.001) -> float | None:
    if value is None:
        return None
    seconds = seconds_of(value)
    if seconds is None or seconds < least:
        message = f"@passes.register({name!r}, {option}={value!r}): give seconds, or a timedelta, from {least:g} up."
        raise PassError(message)
    return seconds
