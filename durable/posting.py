"""
Posting: one INSERT for many messages, which takes those that are new and leaves the caller's transaction unhurt.

`ON CONFLICT DO NOTHING`, then a look at those that stood in the way: the same payload is the same message, another one an
error that names both.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import router
from django.db.models import Max

from . import waking
from .durations import seconds_of
from .errors import DurableError, KeyConflict
from .inserting import insert_many
from .messages import Message
from .payloads import BadPayload, canonical, check, check_name

__all__ = ["post_all"]

_AT_ONCE = 1_000  # rows a statement
_PATIENCE = 5


def post_all(
    topic: str,
    payloads: Iterable[Any],
    *,
    keys: Iterable[str | None] | None,
    ordering_keys: Iterable[str] | None,
    delay: float | timedelta,
    using: str | None,
) -> list[Message]:
    """Record messages of one topic; see `outbox.post_many`."""
    bodies = list(payloads)
    names: list[Any] = list(keys) if keys is not None else [None] * len(bodies)
    lines = list(ordering_keys) if ordering_keys is not None else [""] * len(bodies)
    if not len(bodies) == len(names) == len(lines):
        message = (
            f"{len(bodies)} payloads, {len(names)} keys, {len(lines)} ordering keys: one of each for every message"
        )
        raise ValueError(message)
    check_name(topic, "a topic", 100)
    due_in = _seconds(delay)
    for number, (payload, name, line) in enumerate(zip(bodies, names, lines, strict=True)):
        place = "payload" if len(bodies) == 1 else f"payloads[{number}]"
        if payload is None:
            message = f"{place} is None, which a column cannot tell from nothing at all; send {{}}"
            raise BadPayload(message)
        check(payload, place)
        if name is not None:
            check_name(name, "a key", 200)
        if line:
            check_name(line, "an ordering key", 200)
    messages = [_new(*row, topic=topic) for row in zip(bodies, names, lines, strict=True)]
    alias = using or router.db_for_write(Message)
    _line_up(topic, messages, alias)
    answers = []
    for start in range(0, len(messages), _AT_ONCE):
        answers += _post(messages[start : start + _AT_ONCE], alias, due_in)
    waking.ring_after_commit(alias)
    return answers


def _post(messages: list[Message], using: str, due_in: float, patience: int = _PATIENCE) -> list[Message]:
    found = _same_within(messages)
    made = insert_many([message for message in messages if found[message.key] is message], using, due_in=due_in)
    missing = [message for message in messages if message.pk not in made]
    if not missing:
        return messages
    rows = Message._base_manager.using(using).filter(topic=messages[0].topic, key__in={one.key for one in missing})
    there = {row.key: row for row in rows}
    again = []
    for message in missing:
        before = there.get(message.key)
        if before is None:
            again.append(message)
        elif canonical(before.payload) != canonical(message.payload):
            raise KeyConflict(_two_payloads(before, message))
    if again:
        # What stood in the way is gone again: its transaction rolled back, or it was pruned between our two statements.
        if patience == 0:
            said = f"{again[0]} could neither be posted nor found; try again"
            raise DurableError(said)
        there |= {one.key: one for one in _post(again, using, due_in, patience - 1)}
    return [message if message.pk in made else there[message.key] for message in messages]


def _same_within(messages: list[Message]) -> dict[str, Message]:
    """Return the first message of each key, and refuse two that differ: the database would silently keep one."""
    first: dict[str, Message] = {}
    for message in messages:
        before = first.setdefault(message.key, message)
        if before is not message and canonical(before.payload) != canonical(message.payload):
            raise KeyConflict(_two_payloads(before, message))
    return first


def _new(payload: Any, key: str | None, line: str, *, topic: str) -> Message:
    message = Message(topic=topic, payload=payload, ordering_key=line)
    message.key = key if key is not None else str(message.pk)
    return message


def _line_up(topic: str, messages: list[Message], using: str) -> None:
    """Number the messages of each ordering key after those that are open. Posts that do not wait for each other may tie."""
    lines = {message.ordering_key for message in messages if message.ordering_key}
    if not lines:
        return
    rows = Message._base_manager.using(using).filter(topic=topic, ordering_key__in=lines, due_at__isnull=False)
    last = dict(rows.exclude(ordering_key="").order_by().values_list("ordering_key").annotate(Max("ordinal")))
    for message in messages:
        if message.ordering_key:
            message.ordinal = last[message.ordering_key] = last.get(message.ordering_key, 0) + 1


def _two_payloads(before: Message, now: Message) -> str:
    return (
        f"the key {now.key!r} was posted to {now.topic!r} with another payload: it was "
        f"{canonical(before.payload):.200}, now it is {canonical(now.payload):.200}. "
        "One key names one message: use another key, or the same payload."
    )


def _seconds(delay: float | timedelta) -> float:
    seconds = seconds_of(delay)
    if seconds is None or seconds < 0:
        message = f"delay takes seconds, or a timedelta, from 0 up to ten years, not {delay!r}"
        raise ValueError(message)
    return seconds
