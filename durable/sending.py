"""
Sending: the record of an attempt before, the call of the handler, and the receipt after it.

One by one, or many in one call of a batch handler.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import transaction

from . import heartbeat, message_log, pauses, signals
from .conf import setting
from .contract import Claim
from .effects import persistently, timed, timed_together
from .errors import LostLease, NotRecorded, RetryAfter, Wait, text_of
from .message_log import SENT, Pair
from .recording import record
from .run import clean_text, storable

__all__ = ["close", "send", "send_together"]

logger = logging.getLogger("durable")

#: Seconds, or a tenth of a lease, from the record of a beginning to the call; later it is asked for again.
_BELIEVED = 1.0


# One by one ----------------------------------------------------------------------------------------------------------


def send(message: Any, claim: Claim, handler: Any) -> None:
    """Record that an attempt begins, call the handler, and settle the message. Raises what the handler raised."""
    # Nothing is sent yet: a database that is away for a moment is nobody's failure, and costs no attempt.
    if not _was_just_begun(message, claim) and persistently(claim, lambda: _begin_or_settle(message, claim)):
        return
    try:
        with timed(claim, _timeout(handler)):
            result = handler.send(message)
    except Wait as wait:
        _wait(message, claim, wait)
        raise
    if not record([(message, claim)], [_id_of(result)], _next(message, claim)):
        raise claim.lost_lease()


def _was_just_begun(message: Any, claim: Claim) -> bool:
    at = message.begun_ahead
    return at is not None and time.monotonic() - at < min(_BELIEVED, claim.lease / 10)


def _begin_or_settle(message: Any, claim: Claim) -> bool:
    """
    Record that an attempt begins, if the message is still ours, and return False; or True where it was sent before.

    Raises:
        LostLease: it is not ours; nothing may be sent.
    """
    pair = (message, claim)
    if _settled_from_the_record([pair]):
        return True
    if not message_log.begin([pair]) and not (claim.renew() and message_log.begin([pair])):
        raise claim.lost_lease()
    return False


def _next(message: Any, claim: Claim) -> Pair | None:
    """
    Return the message whose attempt may be begun with the receipt of this one: the one that our worker sends next.

    One that was held before has a past to be looked at first. From here on its lease is renewed, and not given back.
    """
    following: Pair | None = message.following
    if following is None or following[1].fence > 1 or following[1].lost or claim.should_stop():
        return None
    heartbeat.pass_on(claim, following[1])
    return following


# Together ------------------------------------------------------------------------------------------------------------


def send_together(batch: Sequence[Pair], handler: Any) -> set[Claim]:
    """
    Call a batch handler once, and settle all that were sent with one statement.

    Return the claims of those that are settled and told. Each other message keeps a verdict, which `advance` then turns
    into how its own attempt ended. Raises nothing.
    """
    going, sent = list(batch), set[Claim]()
    claims = [claim for _, claim in batch]
    heartbeat.hold(*claims)
    try:
        going = _ready_together(batch)
        with timed_together([claim for _, claim in going], _timeout(handler)):
            told = _by_key(handler.send([message for message, _ in going]) if going else None)
        _share_out(going, told, sent)
    except BaseException as error:  # noqa: BLE001 - kept for each message, whose own attempt raises it
        for message, _ in going:
            message.__dict__.setdefault("_verdict", _Verdict(error))
    finally:
        heartbeat.let_go(*claims)
        for message, claim in batch:
            if claim in sent:
                signals.send(signals.run_settled, message, status=SENT, claim=claim)
            elif "_verdict" not in message.__dict__:
                message._verdict = _Verdict(claim.lost_lease())
    return sent


def _ready_together(batch: Sequence[Pair]) -> list[Pair]:
    """Return the messages to hand over: those that are still ours, not sent before, and recorded as begun."""
    for message, claim in batch:
        if claim.lost_owner is not None:
            persistently(claim, functools.partial(message.lost, claim))
            claim.lost_owner = None
    one = batch[0][1]  # whose lease bounds how long a database that is away is waited for
    known = persistently(one, lambda: _settled_from_the_record(batch))
    for message, _ in batch:
        if message.pk in known:
            message._verdict = _Verdict(None)
    return persistently(one, lambda: message_log.begin([pair for pair in batch if pair[0].pk not in known]))


def _share_out(going: Sequence[Pair], told: Mapping[str, Any], settled: set[Claim]) -> None:
    """Settle what was sent and add its claims to `settled`; give each of the others its verdict."""
    errors = {key: one for key, one in told.items() if isinstance(one, BaseException)}
    sent = [pair for pair in going if pair[0].key not in errors] if errors else going
    for message, _ in going:
        if message.key in errors:
            message._verdict = _Verdict(errors[message.key])
    try:
        ours = record(sent, [_id_of(told.get(message.key)) for message, _ in sent]) if sent else set()
        settled.update(claim for message, claim in sent if message.pk in ours)
    except NotRecorded as error:
        for message, _ in sent:
            message._verdict = _Verdict(error)
    for message, claim in going:
        wait = errors.get(message.key)
        if isinstance(wait, Wait):
            _wait(message, claim, wait)


def _by_key(told: Any) -> Mapping[str, Any]:
    if told is None:
        return {}
    if isinstance(told, Mapping):
        return told
    # The messages are sent; an answer nobody can read must not send them again.
    logger.warning("a batch handler returned %s; it should return a dictionary by key, or nothing", type(told).__name__)
    return {}


class _Verdict:
    """What a call for many messages came to for one of them."""

    def __init__(self, error: BaseException | None) -> None:
        self._error = error

    def conclude(self) -> None:
        if self._error is not None:
            raise self._error


# What both have in common --------------------------------------------------------------------------------------------


def close(message: Any, claim: Claim, outcome: str, error: BaseException, write: Callable[[], Any]) -> None:
    """Write how the message goes on, and complete the attempt's record, in one transaction."""
    said = {"code": _code(error), "error": clean_text(text_of(error), 4_000)}
    try:
        with transaction.atomic(using=claim.alias):
            write()
            message_log.complete(claim, outcome, **said)
    except LostLease:
        # The message is somebody else's; what befell our attempt is still true.
        message_log.complete(claim, outcome, **said)
        raise


def _settled_from_the_record(pairs: Sequence[Pair]) -> set[Any]:
    """
    Settle those messages that an owner before us has sent, but could not settle as we had taken them by then.

    Its record says so, and nothing is sent a second time. Return their primary keys.
    """
    known = message_log.providers_of_sent(pairs)
    for message, claim in pairs:
        if message.pk in known:
            claim.settle(SENT, provider_id=known[message.pk], last_error="")
    return set(known)


def _wait(message: Any, claim: Claim, wait: Wait) -> None:
    message_log.complete(claim, "later", error=clean_text(wait.reason, 4_000))
    if isinstance(wait, RetryAfter) and wait.whole_topic:
        pauses.pause(message.topic, reason=wait.reason, seconds=wait.seconds, using=claim.alias)


def _timeout(handler: Any) -> float:
    return float(handler.timeout if handler.timeout is not None else setting("STEP_TIMEOUT"))


def _id_of(result: Any) -> str:
    if result is None:
        return ""
    try:
        return storable(str(result), 200)[:200]
    except Exception:  # noqa: BLE001 - sent is sent, whatever the handler's answer does when it is printed
        return ""


def _code(error: BaseException) -> str:
    code = getattr(error, "code", None) or getattr(error, "smtp_code", None)
    return storable(str(code if isinstance(code, str | int) else type(error).__name__), 50)[:50]
