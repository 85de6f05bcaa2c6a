"""What can go wrong, one class each. The docstring is the definition; the message is for whoever reads it at night."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied

__all__ = [
    "AlreadyInFlight",
    "DurableError",
    "InsideTransaction",
    "Interrupted",
    "KeyConflict",
    "LostLease",
    "NotAllowed",
    "NotAsApproved",
    "NotConfigured",
    "NotProposed",
    "NotRecorded",
    "Refused",
    "RetryAfter",
    "StepTimeout",
    "TargetMoved",
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
    """
    Raise it in a step or a handler: trying again can never help. The run settles at once, with this message.

    A job is then `dead`, a message `failed`.
    """


class RetryAfter(Wait):
    """
    Raise it in a handler: the far side asked us to come back later. Costs no attempt, as nothing was tried.

    Args:
        seconds: how long it asked for, by the database's clock; from 0 to ten years.
        reason: shown to the operator while the message waits.
        whole_topic: let the other messages of the topic wait too; a rate limit is rarely one message's.
    """

    def __init__(self, seconds: float, reason: str = "", *, whole_topic: bool = False) -> None:
        super().__init__(seconds, reason or f"the far side asked for {seconds:g} s")
        self.whole_topic = whole_topic


class NotConfigured(DurableError):
    """
    Raise it in a handler: a setting or a credential is missing, so no message of this topic can be sent.

    The topic is paused with this message as the reason, and tried again by itself; no message loses an attempt.
    """


class NotRecorded(DurableError):
    """A message was sent, and its receipt could not be written. The record of its attempt stays open, for people to see."""


class NotProposed(DurableError, ValueError):
    """
    A plan was refused before it was recorded. `issues` are all the reasons, not only the first.
    """

    def __init__(self, issues: list[Any]) -> None:
        super().__init__("; ".join(str(issue) for issue in issues))
        self.issues = issues


class NotAllowed(DurableError, PermissionDenied):
    """Somebody may not decide about a plan: no permission, or it is their own and needs a second pair of eyes."""


class NotAsApproved(DurableError):
    """A plan that was to be executed is not what was approved, or its approval does not hold any more. Nothing was done."""


class TargetMoved(DurableError):
    """
    Raise it in an action: what it was to change is not as the approver saw it. Nothing is done, and the plan stops here.

    Its message is for people: what moved, which version was wanted, which is there.
    """


def in_words(error: BaseException) -> str:
    """Return what kind of error it is, and what it says if it says anything."""
    text, kind = text_of(error), type(error).__name__
    return f"{kind}: {text}" if text else kind


def text_of(error: BaseException) -> str:
    """Return what an error says; an error that cannot be printed must not take the run's record with it."""
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001 - any __str__ may raise anything
        return f"(its text cannot be read: {type(broken).__name__})"
