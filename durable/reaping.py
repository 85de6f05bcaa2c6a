"""
Reaping: messages that nobody would ever send. A spent budget makes one dead; a topic without a handler is reported.
"""

from __future__ import annotations

from typing import Any

from django.db import connections, transaction

from . import clock, pauses, signals, topics
from .conf import setting
from .contract import Claim, Taking, put_back, reap
from .errors import WorkerLost
from .lanes import names_of_open
from .message_lanes import spent
from .owner import label_of
from .run import FAILURES_KEPT, failure

__all__ = ["reap_and_report"]

_PAGE = 1_000
_WINDOW = 10_000  # due messages of a topic that are looked through for spent ones; those stay in front


def reap_and_report(model: Any, using: str) -> list[str]:
    """Settle as dead what must not be claimed again. Return what a person must look at, one sentence each."""
    for handler in topics.known():
        _reap(model, using, handler)
    problems = [
        f"The topic {topic!r} is paused: {why}. Its messages wait." for topic, why in pauses.paused(using).items()
    ]
    unknown = [topic for topic in names_of_open(model, "topic", using) if topics.find(topic) is None]
    return problems + [_nobody_sends(model, using, topic) for topic in unknown]


def _reap(model: Any, using: str, handler: topics.Handler) -> None:
    """Settle as dead the messages that nobody holds and whose budget is spent. Their fences stay."""
    rows, losses = model._base_manager.using(using), int(setting("MAX_LOSSES"))
    front = rows.filter(topic=handler.topic, due_at__isnull=False).order_by("due_at").values("pk")[:_WINDOW]
    found = rows.filter(Taking(ahead=True).condition(model.MACHINE), spent(model, handler, losses))
    for message in found.filter(pk__in=front).defer("payload")[:_PAGE]:
        row, held = rows.filter(pk=message.pk), message.status == model.MACHINE.claimed
        if held and not message.log.filter(fence=message.fence).exists():
            put_back(row, fence=message.fence, attempts=message.attempts - 1)
            continue
        with transaction.atomic(using=using):
            done = reap(row, fence=message.fence, **_obituary(message, using))
            if done:
                message.log.filter(outcome="").update(outcome="unknown")
        if done:
            _tell(message, using)


def _obituary(message: Any, using: str) -> dict[str, Any]:
    if message.status != message.MACHINE.claimed:
        return {"last_error": f"given up after {message.attempts} attempts: the budget was made smaller"}
    name = label_of(message.owner)
    error = WorkerLost(f"{name} vanished with the message in hand; it may have been sent")
    entry = failure(message, step=message.topic, error=error, owner=name, at=clock.read(connections[using]))
    return {
        "losses": message.losses + 1,
        "failures": [entry, *message.failures][:FAILURES_KEPT],
        "last_error": (
            f"given up after {message.attempts} attempts: the worker was lost, last {name}; it may have been sent"
        ),
    }


def _tell(message: Any, using: str) -> None:
    """Tell whoever listens that a message was given up without anybody holding it."""
    gone = Claim(type(message), using=using, pk=message.pk, fence=message.fence, owner=message.owner, lease=0)
    signals.send(signals.run_settled, message, status=message.MACHINE.dead, claim=gone)


def _nobody_sends(model: Any, using: str, topic: str) -> str:
    rows, waiting = model._base_manager.using(using).filter(topic=topic, due_at__isnull=False), model.MACHINE.waiting
    said = f"nobody will send this: no handler of the topic {topic!r} in this code"
    unmarked = rows.filter(status=waiting).exclude(last_error=said).values("pk")[:_WINDOW]
    rows.filter(pk__in=list(unmarked.values_list("pk", flat=True)), status=waiting).update(last_error=said)
    return f"{rows.count()} open message(s) of the topic {topic!r} wait for code that has a handler of it."
