"""
Topics: which messages this code can send, and how.

A handler is registered when its module is imported: `outbox.py` in any installed app. A message names its topic only, so
it outlives the handler; without one it waits, and is reported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from .backoff import Backoff
from .steps import GUARANTEES

__all__ = ["Handler", "HandlerError", "find", "forget", "handler", "known"]

F = TypeVar("F", bound=Callable[..., Any])

_LONGEST_NAME = 100
_MOST_TOGETHER = 1_000
_handlers: dict[str, Handler] = {}


class HandlerError(TypeError):
    """A handler was declared wrongly. Raised when the module is imported, with what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """How the messages of one topic are sent."""

    topic: str
    send: Callable[..., Any]
    external: str  # what a repeat does: a word of GUARANTEES
    attempts: int | None  # the budget; None: tried until sent
    backoff: Backoff
    timeout: float | None  # seconds; None: the STEP_TIMEOUT setting
    concurrency: int | None  # live leases at a time, over all hosts
    batch: int | None  # messages handed over in one call

    @property
    def place(self) -> str:
        """Where it stands in the code, for people."""
        return f"{self.send.__module__}.{self.send.__qualname__}"

    def spent(self, attempts: int) -> bool:
        """Return whether the budget allows no further attempt."""
        return self.attempts is not None and attempts >= self.attempts


def handler(
    topic: str,
    *,
    external: str,
    attempts: int | None = 5,
    backoff: Backoff | None = None,
    timeout: float | None = None,
    concurrency: int | None = None,
    batch: int | None = None,
) -> Callable[[F], F]:
    """
    Register the function that sends the messages of a topic. It is called outside any transaction.

        @outbox.handler("order.receipt", external="keyed", attempts=5, timeout=30)
        def send_receipt(message):
            return mail_api.send(message.payload, idempotency_key=message.key)["id"]

    It takes a message, with `topic`, `key`, `payload` and `attempts`. What it returns, a text, a number or nothing, is
    kept as the provider's id. It raises `RetryAfter`, `Refused` or `NotConfigured`; anything else is tried again.

    Args:
        topic: 1 to 100 characters; what `post()` names.
        external: "keyed", "idempotent" or "at-least-once": what a repeat does. Say it, there is no default.
        attempts: how often a message is tried before it is dead; a worker lost on the way counts. None: until it is sent.
        backoff: the spacing of attempts; by default 30 s, 2 min, 8 min, 32 min, then hourly.
        timeout: seconds a call may take (default: the STEP_TIMEOUT setting). After it the lease is no longer renewed and
            another worker may send the message again, so the client's own timeout must be shorter.
        concurrency: the most messages of the topic in hand at a time, counted by live leases over all hosts.
        batch: hand over a list of up to so many messages in one call. The handler returns nothing (all are sent), or a
            dictionary from a message's key to its provider id, or to the exception that befell it.

    Raises:
        HandlerError: at import, for anything that could not work, or a second handler of the topic.
    """
    options = {"attempts": attempts, "concurrency": concurrency, "batch": batch}
    _refuse_mistakes(topic, external, timeout, options)

    def register(send: F) -> F:
        if not callable(send) or inspect.iscoroutinefunction(send) or inspect.isgeneratorfunction(send):
            message = (
                f"the handler of {topic!r} must be a plain function, not {send!r}. "
                "Call async code with asgiref.sync.async_to_sync."
            )
            raise HandlerError(message)
        made = Handler(
            topic=topic, send=send, external=external, attempts=attempts, backoff=backoff or Backoff(), timeout=timeout,
            concurrency=concurrency, batch=batch,
        )  # fmt: skip
        before = _handlers.get(topic)
        if before is not None and before.place != made.place:
            message = (
                f"the topic {topic!r} has two handlers: {before.place} and {made.place}. A topic has one; rename one."
            )
            raise HandlerError(message)
        _handlers[topic] = made
        return send

    return register


def find(topic: str) -> Handler | None:
    """Return the handler of a topic, or None where this code has none."""
    return _handlers.get(topic)


def known() -> list[Handler]:
    """Return every handler of this code, by topic."""
    return [_handlers[topic] for topic in sorted(_handlers)]


def forget(topic: str) -> None:
    """Take a handler away. For tests: its messages wait, as they do when a deploy drops it."""
    _handlers.pop(topic, None)


def _refuse_mistakes(topic: Any, external: Any, timeout: Any, options: dict[str, Any]) -> None:
    if not isinstance(topic, str) or not 0 < len(topic) <= _LONGEST_NAME or "\x00" in topic:
        message = f"a topic is a text of 1 to {_LONGEST_NAME} characters, not {topic!r:.120}"
        raise HandlerError(message)
    if external not in GUARANTEES:
        words = ", ".join(repr(word) for word in GUARANTEES)
        message = f"@outbox.handler({topic!r}, external={external!r}): say what a repeat does: {words}."
        raise HandlerError(message)
    if timeout is not None and (
        isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < 1e9
    ):
        message = f"@outbox.handler({topic!r}, timeout={timeout!r}): give seconds above 0, or leave it out."
        raise HandlerError(message)
    for name, value in options.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            message = f"@outbox.handler({topic!r}, {name}={value!r}): give a whole number from 1 up, or None."
            raise HandlerError(message)
    if options["batch"] is not None and options["batch"] > _MOST_TOGETHER:
        message = f"@outbox.handler({topic!r}, batch={options['batch']}): {_MOST_TOGETHER} is the most."
        raise HandlerError(message)
    if options["batch"] and options["concurrency"] and options["concurrency"] < options["batch"]:
        message = (
            f"@outbox.handler({topic!r}): concurrency={options['concurrency']} counts messages in hand, "
            f"so a batch of {options['batch']} could never be full. Leave one of them out."
        )
        raise HandlerError(message)
