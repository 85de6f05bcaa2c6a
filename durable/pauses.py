"""
Pauses: topics that no worker sends for now, with the reason; and how many messages of a topic may be in hand at a time.

One row per topic that anybody ever paused or limited. A worker reads the pauses at most once a second.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from django.db import models, router, transaction
from django.db.models import Q
from django.db.models.functions import Now

from .clock import InSeconds
from .run import clean_text

__all__ = ["Room", "Topic", "admission", "forget", "pause", "paused", "resume"]

_FRESH = 1.0  # seconds a process believes what it read
_FOR_GOOD = 315_576_000.0  # ten years: until somebody resumes it

_lock = threading.Lock()
_read: dict[str, tuple[float, dict[str, str]]] = {}


class Topic(models.Model):
    """What workers on all hosts must know of a topic."""

    name = models.CharField(max_length=100, primary_key=True, editable=False)
    paused_until = models.DateTimeField(null=True, editable=False)
    reason = models.TextField(blank=True, default="", editable=False)
    in_hand = models.JSONField(default=list, editable=False)  # [message id, fence] of the newest claims, where limited

    def __str__(self) -> str:
        return str(self.name)


class Room:
    """How many messages of a limited topic may be claimed now, while its row is locked."""

    def __init__(self, row: Any, left: int, live: list[list[Any]]) -> None:
        self.left = left
        self._row, self._live = row, live

    def took(self, batch: list[tuple[Any, Any]]) -> None:
        """Remember what was claimed, so that the next claimer counts it."""
        if batch:
            held = [*self._live, *([str(right.pk), right.fence] for _, right in batch)]
            self._row.update(in_hand=held)


def pause(topic: str, *, reason: str, seconds: float | None, using: str | None = None) -> None:
    """Let no worker take messages of that topic, for so many seconds or until `resume`. See `outbox.pause`."""
    alias = using or router.db_for_write(Topic)
    until = InSeconds(_FOR_GOOD if seconds is None else min(max(0.0, seconds), _FOR_GOOD))
    _row(topic, alias).update(paused_until=until, reason=clean_text(reason, 1_000))
    forget(alias)


def resume(topic: str, *, using: str | None = None) -> bool:
    """Let workers take them again. Return whether the topic was paused."""
    alias = using or router.db_for_write(Topic)
    rows = Topic._base_manager.using(alias).filter(name=topic, paused_until__gt=Now())
    was = rows.update(paused_until=None, reason="") > 0
    forget(alias)
    return was


def paused(using: str) -> dict[str, str]:
    """Return the reason for each topic that is paused, as read within the last second."""
    with _lock:
        at, found = _read.get(using, (0.0, {}))
        if at and time.monotonic() - at < _FRESH:
            return found
    rows = Topic._base_manager.using(using).filter(paused_until__gt=Now())
    found = dict(rows.values_list("name", "reason"))
    with _lock:
        _read[using] = (time.monotonic(), found)
    return found


def forget(using: str | None = None) -> None:
    """Read the pauses again at the next question."""
    with _lock:
        if using is None:
            _read.clear()
        else:
            _read.pop(using, None)


@contextlib.contextmanager
def admission(model: Any, topic: str, most: int, using: str) -> Iterator[Room]:
    """
    Hold a limited topic's row while messages of it are claimed; say how many more may be in hand.

    What counts is a live lease, on whatever host: a worker that was killed frees its place when its lease lapses. The
    claims are remembered by id and fence, so that counting them costs the same with ten messages and with a million.
    """
    with transaction.atomic(using=using):
        rows = _row(topic, using)
        row = rows.select_for_update().get()
        mine = Q(pk__in=[])
        for pk, fence in row.in_hand:
            mine |= Q(pk=pk, fence=fence)
        held = model._base_manager.using(using).filter(mine, status=model.MACHINE.claimed, lease_expires_at__gt=Now())
        live = [[str(pk), fence] for pk, fence in held.values_list("pk", "fence")]
        yield Room(rows, max(0, most - len(live)), live)


def _row(topic: str, using: str) -> Any:
    rows = Topic._base_manager.using(using).filter(name=topic)
    if not rows.exists():
        Topic._base_manager.using(using).bulk_create([Topic(name=topic)], ignore_conflicts=True)
    return rows
