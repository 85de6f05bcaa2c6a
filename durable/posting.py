"""
Posting: one INSERT for many messages, which takes those that are new and leaves the caller's transaction unhurt.

`ON CONFLICT DO NOTHING`, then a look at those that stood in the way: the same payload is the same message, another one an
error that names both. Messages without keys have nobody in their way, so many of them are copied.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.db import connections, router
from django.db.models import Max

from . import copying, waking
from .durations import seconds_of
from .errors import DurableError, KeyConflict
from .ids import uuid7_texts
from .inserting import alike, insert_many
from .messages import Message
from .payloads import BadPayload, canonical, check, check_name, passes
from .posted import Draft, Drafts, Posted

__all__ = ["post_all"]

_AT_ONCE = 1_000  # rows a statement
_WORTH_COPYING = 200  # messages
_WRITTEN_AT_ONCE = 500  # messages handed to the driver at a time
_PATIENCE = 5
_BETWEEN = ', "\\\\u0000", '
_SAME = {"owner": "", "provider_id": ""}


def post_all(
    topic: str,
    payloads: Iterable[Any],
    *,
    keys: Iterable[str | None] | None,
    ordering_keys: Iterable[str] | None,
    delay: float | timedelta,
    using: str | None,
) -> Posted:
    """Record messages of one topic; see `outbox.post_many`."""
    bodies = list(payloads)
    names = None if keys is None else list(keys)
    lines = None if ordering_keys is None else list(ordering_keys)
    _refuse_mistakes(topic, bodies, names, lines)
    due_in, alias = _seconds(delay), using or router.db_for_write(Message)
    places = [line or "" for line in lines] if lines is not None else [""] * len(bodies)
    ordinals = _line_up(topic, places, alias)
    if _may_be_copied(len(bodies), names, due_in, alias):
        ids = _copy(topic, bodies, places, ordinals, alias)
        found: list[Draft | Message] | Drafts = Drafts(ids, ids, bodies, places, ordinals)
    else:
        ids = uuid7_texts(len(bodies))
        keys = ids if names is None else [own if name is None else name for own, name in zip(ids, names, strict=True)]
        drafts = list(map(Draft, ids, keys, bodies, places, ordinals))
        some = (drafts[start : start + _AT_ONCE] for start in range(0, len(drafts), _AT_ONCE))
        found = [one for part in some for one in _post(topic, part, alias, due_in)]
    waking.ring_after_commit(alias)
    return Posted(topic, alias, found)


def _refuse_mistakes(topic: str, bodies: list[Any], names: list[Any] | None, lines: list[Any] | None) -> None:
    counts = [len(bodies), *(len(some) if some is not None else len(bodies) for some in (names, lines))]
    if len(set(counts)) > 1:
        message = f"{counts[0]} payloads, {counts[1]} keys, {counts[2]} ordering keys: one of each for every message"
        raise ValueError(message)
    check_name(topic, "a topic", 100)
    for number, payload in enumerate(bodies):
        if payload is None or not passes(payload):
            place = "payload" if len(bodies) == 1 else f"payloads[{number}]"
            check(payload, place)
            if payload is None:
                message = f"{place} is None, which a column cannot tell from nothing at all; send {{}}"
                raise BadPayload(message)
    for name in names or ():
        if name is not None:
            check_name(name, "a key", 200)
    for line in lines or ():
        if line:
            check_name(line, "an ordering key", 200)


def _line_up(topic: str, lines: list[str], using: str) -> list[int]:
    """Number the messages of each ordering key after those that are open. Posts that do not wait for each other may tie."""
    if not any(lines):
        return [0] * len(lines)
    rows = Message._base_manager.using(using).filter(
        topic=topic, ordering_key__in=set(lines) - {""}, due_at__isnull=False
    )
    last = dict(rows.exclude(ordering_key="").order_by().values_list("ordering_key").annotate(Max("ordinal")))
    ordinals = []
    for line in lines:
        if line:
            last[line] = last.get(line, 0) + 1
        ordinals.append(last[line] if line else 0)
    return ordinals


# Copied: nobody can have their keys ----------------------------------------------------------------------------------


def _may_be_copied(number: int, names: list[Any] | None, due_in: float, using: str) -> bool:
    given = names is not None and any(name is not None for name in names)
    if given or due_in or number < _WORTH_COPYING:
        return False
    return copying.is_possible(Message, connections[using])


def _copy(topic: str, bodies: list[Any], lines: list[str], ordinals: list[int], using: str) -> list[str]:
    """Copy messages that have no keys of the caller's; return their ids."""
    same, ids = {**alike(Message), **_SAME, "topic": topic}, list[str]()
    names = ["id", "key", "payload"]
    in_lines = any(lines)
    if in_lines:
        names += ["ordering_key", "ordinal"]
    else:
        same |= {"ordering_key": "", "ordinal": 0}

    def written() -> Iterator[list[list[str]]]:
        """While the server stores some of them the next are written."""
        for start in range(0, len(bodies), _WRITTEN_AT_ONCE):
            some = slice(start, start + _WRITTEN_AT_ONCE)
            own = uuid7_texts(len(bodies[some]))
            ids.extend(own)
            columns = [own, own, _written(bodies[some])]
            if in_lines:
                columns += [[copying.escaped(line) for line in lines[some]], list(map(str, ordinals[some]))]
            yield columns

    copying.copy(Message, connections[using], names, written(), same)
    return ids


def _written(bodies: list[Any]) -> list[str]:
    """
    Return each payload as JSON, as COPY reads it: a backslash is all that it reads otherwise.

    One call writes all of them, with a text between that none of them has, as `check` lets no NUL pass: to write one by
    itself takes three times as long.
    """
    parted = [part for body in bodies for part in (body, "\0")][:-1]
    return json.dumps(parted)[1:-1].replace("\\", "\\\\").split(_BETWEEN)


# Inserted: somebody may ----------------------------------------------------------------------------------------------


def _post(
    topic: str, drafts: Sequence[Draft], using: str, due_in: float, patience: int = _PATIENCE
) -> list[Draft | Message]:
    first = _first_of_each_key(topic, drafts)
    new = [draft for draft in drafts if first[draft.key] is draft] if len(first) < len(drafts) else drafts
    made = _insert(topic, new, using, due_in)
    if len(made) == len(drafts):
        return list(drafts)
    missing = [draft for draft in drafts if draft.id not in made]
    rows = Message._base_manager.using(using).filter(topic=topic, key__in={one.key for one in missing})
    there: dict[str, Draft | Message] = {row.key: row for row in rows}
    again = []
    for draft in missing:
        before = there.get(draft.key)
        if before is None:
            again.append(draft)
        elif canonical(before.payload) != canonical(draft.payload):
            raise KeyConflict(_two_payloads(topic, before, draft))
    if again:
        # What stood in the way is gone again: its transaction rolled back, or it was pruned between our two statements.
        if patience == 0:
            said = f"{topic} {again[0].key} could neither be posted nor found; try again"
            raise DurableError(said)
        there |= {one.key: one for one in _post(topic, again, using, due_in, patience - 1)}
    return [draft if draft.id in made else there[draft.key] for draft in drafts]


def _insert(topic: str, drafts: Sequence[Draft], using: str, due_in: float) -> set[str]:
    """Insert messages, and return the ids of those whose keys were free."""
    dashes = "-" if connections[using].features.has_native_uuid_field else ""  # of an id as the column keeps it
    rows = [
        (draft.id.replace("-", dashes), draft.key, json.dumps(draft.payload), draft.line, draft.ordinal)
        for draft in drafts
    ]
    names = ("id", "key", "payload", "ordering_key", "ordinal")
    number = insert_many(Message, using, names, rows, {**_SAME, "topic": topic}, due_in)
    if number == len(drafts):
        return {draft.id for draft in drafts}
    if number == 0:
        return set()
    mine = Message._base_manager.using(using).filter(pk__in=[draft.id for draft in drafts])
    return {str(pk) for pk in mine.values_list("pk", flat=True)}


def _first_of_each_key(topic: str, drafts: Sequence[Draft]) -> dict[str, Draft]:
    """Return the first message of each key, and refuse two that differ: the database would silently keep one."""
    first: dict[str, Draft] = {}
    for draft in drafts:
        before = first.setdefault(draft.key, draft)
        if before is not draft and canonical(before.payload) != canonical(draft.payload):
            raise KeyConflict(_two_payloads(topic, before, draft))
    return first


def _two_payloads(topic: str, before: Draft | Message, now: Draft) -> str:
    return (
        f"the key {now.key!r} was posted to {topic!r} with another payload: it was "
        f"{canonical(before.payload):.200}, now it is {canonical(now.payload):.200}. "
        "One key names one message: use another key, or the same payload."
    )


def _seconds(delay: float | timedelta) -> float:
    seconds = seconds_of(delay)
    if seconds is None or seconds < 0:
        message = f"delay takes seconds, or a timedelta, from 0 up to ten years, not {delay!r}"
        raise ValueError(message)
    return seconds
