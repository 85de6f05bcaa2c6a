"""
Requesting: one INSERT that either records an operation or finds the one there is, and leaves the caller's transaction unhurt.
"""

from __future__ import annotations

from typing import Any

from django.db import router

from . import waking
from .errors import AlreadyInFlight, DurableError, KeyConflict
from .flights import flight
from .inserting import insert
from .operations import Operation
from .payloads import BadPayload, canonical, check, check_name
from .run import clean_text

__all__ = ["record"]

_PATIENCE = 5


def record(kind: str, payload: Any, *, key: str | None, one_at_a_time: str, by: Any, using: str | None) -> Operation:
    """Record an operation; see `polling.start`."""
    check_name(kind, "a kind", 100)
    if payload is None:
        message = "payload is None, which a column cannot tell from nothing at all; send {}"
        raise BadPayload(message)
    check(payload)
    if key is not None:
        check_name(key, "a key", 200)
    if one_at_a_time:
        check_name(one_at_a_time, "one_at_a_time", 200)
    alias = using or router.db_for_write(Operation)
    for _ in range(_PATIENCE):
        operation = Operation(kind=kind, payload=payload, one_at_a_time=one_at_a_time)
        operation.key = key if key is not None else str(operation.pk)
        operation.flight = flight(kind, one_at_a_time)
        operation.started_by = clean_text(str(by), 254)[:254] if by else ""
        if insert(operation, alias, lease=None):
            waking.ring_after_commit(alias)
            return operation
        found = _existing(operation, alias)
        if found is not None:
            return found
        # What stood in the way is gone again: its transaction rolled back, or it ended between our two statements.
    message = f"{operation} could neither be recorded nor found; try again"
    raise DurableError(message)


def _existing(operation: Operation, using: str) -> Operation | None:
    rows = Operation._base_manager.using(using)
    before = rows.filter(kind=operation.kind, key=operation.key).first()
    if before is not None:
        asked, now = _arguments(before), _arguments(operation)
        if asked != now:
            message = (
                f"the key {operation.key!r} was used for {operation.kind!r} with other arguments: it was {asked:.200}, now "
                f"it is {now:.200}. One key names one operation: use another key, or the same arguments."
            )
            raise KeyConflict(message)
        return before
    other = rows.filter(flight=operation.flight).first() if operation.flight else None
    if other is not None:
        message = (
            f"{operation.kind} for {operation.one_at_a_time!r} is already in flight: {other} is {other.status}. "
            f"{'Say what became of it first.' if other.status == 'unknown' else 'Wait for it, or cancel it.'}"
        )
        raise AlreadyInFlight(message, other)
    return None


def _arguments(operation: Operation) -> str:
    return canonical([operation.payload, operation.one_at_a_time])
