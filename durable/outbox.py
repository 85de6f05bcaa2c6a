"""
Outbox: a message recorded with the change that caused it, sent at least once, never forgotten.

    from durable import outbox

    @outbox.handler("order.receipt", external="keyed", attempts=5, timeout=30)
    def send_receipt(message): ...

    outbox.post("order.receipt", {"order": 7}, key="receipt:7")

`post` is one INSERT in the caller's transaction: rolled back together, committed together. A worker sends it, outside any
transaction, and writes a receipt. A crash between the two repeats the send with the same key; every attempt left a record
before it began, so that a message which may have gone out twice can be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .topics import Handler, HandlerError, find, forget, handler, known

if TYPE_CHECKING:
    from .messages import Message

__all__ = ["Handler", "HandlerError", "find", "forget", "handler", "known", "pause", "post", "post_many", "resume"]


def post(
    topic: str,
    payload: Any,
    *,
    key: str | None = None,
    ordering_key: str = "",
    delay: float | timedelta = 0,
    using: str | None = None,
) -> Message:
    """
    Record a message in the caller's transaction, or in one of its own.

    Args:
        topic: who sends it. The handler need not exist here, or yet.
        payload: JSON; it comes back equal, or is refused here.
        key: the idempotency key, unique within the topic, given to the provider on every attempt. The same key with the
            same payload returns the message there is, sent or not. Without one the message's own id is the key.
        ordering_key: messages of a topic with the same ordering key are sent one after the other, in the order in which
            they were posted. One that is failed or dead no longer holds up those behind it.
        delay: seconds, by the database's clock, before which it is not sent.
        using: the database alias; by default where the router puts messages.

    Returns:
        The message, new or as it stands.

    Raises:
        BadPayload: naming the place of what could not be stored, or would come back changed.
        KeyConflict: the key was used in this topic with another payload; both are named. The transaction is unhurt.
    """
    return post_many(topic, [payload], keys=[key], ordering_keys=[ordering_key], delay=delay, using=using)[0]


def post_many(
    topic: str,
    payloads: Iterable[Any],
    *,
    keys: Iterable[str | None] | None = None,
    ordering_keys: Iterable[str] | None = None,
    delay: float | timedelta = 0,
    using: str | None = None,
) -> Sequence[Message]:
    """
    Record many messages of one topic, in few statements. All of them are checked before the first is written.

    Takes, returns and raises what `post` does; `keys` and `ordering_keys` run beside `payloads`. In a key conflict the
    other messages of the call stay posted unless the caller's transaction rolls back.

    Returns:
        The messages, in the order of the payloads. Each is made into an instance when it is looked at.
    """
    from .posting import post_all

    return post_all(topic, payloads, keys=keys, ordering_keys=ordering_keys, delay=delay, using=using)


def pause(topic: str, *, reason: str, seconds: float | None = None, using: str | None = None) -> None:
    """
    Let no worker send messages of that topic, for so many seconds or until `resume`. What is in hand is finished.

    The reason is shown to whoever asks why nothing moves.
    """
    from .pauses import pause as _pause

    _pause(topic, reason=reason, seconds=seconds, using=using)


def resume(topic: str, *, using: str | None = None) -> bool:
    """Let workers send messages of that topic again. Return whether it was paused."""
    from .pauses import resume as _resume

    return _resume(topic, using=using)
