"""
MessageLanes: which messages a worker may claim. One lane per topic that this code can send, each message in its line.

A message whose budget is spent is in none: it is reaped.
"""

from __future__ import annotations

import functools
from typing import Any

from django.db.models import Exists, OuterRef, Q

from . import pauses, topics
from .lanes import Lane

__all__ = ["earlier_in_line", "lane_of", "spent"]


@functools.lru_cache(maxsize=1024)
def lane_of(model: Any, handler: topics.Handler, using: str, losses: int) -> Lane:
    """Return the lane of a handler's topic; `losses`: how many lost workers in a row are too many."""
    first: Any = Q(ordering_key="") | ~Exists(earlier_in_line(model._base_manager.using(using), _Outer(handler.topic)))
    admission = None
    if handler.concurrency is not None:
        admission = functools.partial(pauses.admission, model, handler.topic, handler.concurrency, using)
    return Lane(
        name=handler.topic,
        within=(("topic", handler.topic),),
        only=~spent(model, handler, losses) & first,
        most=handler.batch or (1 if handler.concurrency is not None else None),
        together=handler.batch is not None,
        yields=True,
        admission=admission,
    )


def spent(model: Any, handler: topics.Handler, losses: int) -> Q:
    """Return what is true of a message that must not be claimed again. A lost worker is an attempt like any other."""
    if handler.attempts is not None:
        return Q(attempts__gte=handler.attempts)
    return Q(status=model.MACHINE.claimed, losses__gte=losses - 1)


def earlier_in_line(rows: Any, of: Any) -> Any:
    """Return the open messages that must be sent before one: those of its ordering key that were posted earlier."""
    topic, line, ordinal, pk = of.topic, of.ordering_key, of.ordinal, of.pk
    before = Q(ordinal__lt=ordinal) | Q(ordinal=ordinal, pk__lt=pk)
    return rows.filter(before, topic=topic, ordering_key=line, due_at__isnull=False).exclude(ordering_key="")


class _Outer:
    """The message that a sub-select is asked for."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.ordering_key, self.ordinal, self.pk = OuterRef("ordering_key"), OuterRef("ordinal"), OuterRef("pk")
