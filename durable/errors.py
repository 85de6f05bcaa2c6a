"""What can go wrong, one class each. The docstring is the definition; the message is for whoever reads it at night."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AlreadyInFlight",
    "DurableError",
    "InsideTransaction",
    "Interrupted",
    "KeyConflict",
    "LostLease",
    "Refused",
    "StepTimeout",
    "Wait",
    "WorkerLost",
    "text_of",
]

#: Ten years, as for a Backoff: what is further away no database stores alike, and none could be waited for.
_LONGEST = 315_576_000.0


class DurableError(Exception):
    """The root of all errors of `durable`. Do not raise it directly."""


class LostLease(DurableError):
    """The run has a newer owner, or was settled by someone else. Nothing was written; the run goes on without us."""


class Interrupted(DurableError):
    """This process was asked to stop. The run is released at once and the attempt does not count."""


class WorkerLost(DurableError):
    """The process that held the run vanished without releasing it: killed, out of memory, or cut off."""


class StepTimeout(DurableError):
    """A database step outlived its timeout; its transaction was cut off and rolled back."""


class InsideTransaction(DurableError, RuntimeError):
    """A run cannot be carried out inside a transaction: its receipts would commit, or vanish, with the caller's."""


class KeyConflict(DurableError):
    """The same key was used with other arguments. One key names one operation, for ever."""


class AlreadyInFlight(DurableError):
    """
    Another open run holds the values named in `one_in_flight`.

    `run` is that run.
    """

    def __init__(self, message: str, run: Any) -> None:
        super().__init__(message)
        self.run = run


class Wait(DurableError):
    """
    Raise it in a step: nothing is wrong, come back later. Costs no attempt.

    Args:
        seconds: how long from now, by the database's clock; from 0 to ten years.
        reason: shown to the operator while the run waits.
    """

    def __init__(self, seconds: float, reason: str = "") -> None:
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds <= _LONGEST:
            message = f"Wait(seconds) takes a number of seconds from 0 up to ten years, not {seconds!r:.80}"
            raise ValueError(message)
        super().__init__(reason or f"waits {seconds:g} s")
        self.seconds = float(seconds)
        self.reason = reason


class Refused(DurableError):
    """Raise it in a step: trying again can never help. The run settles as `dead` at once, with this message."""


def text_of(error: BaseException) -> str:
    """Return what an error says; an error that cannot be printed must not take the run's record with it."""
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001 - any __str__ may raise anything
        return f"(its text cannot be read: {type(broken).__name__})"
