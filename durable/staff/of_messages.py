"""What may be decided about a message: send it again after it was given up or refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable.contract import Machine

from .common import common, next_worker
from .value import Decision, about_repeats

__all__ = ["of_messages"]


def of_messages(machine: Machine) -> tuple[Decision, ...]:
    """Return what may be decided about messages, with that machine."""
    retry = Decision(
        name="retry",
        label=gettext_lazy("Retry"),
        done=gettext_lazy("Retried."),
        sources=tuple(sorted(machine.terminal - {machine.done})),
        carry_out=lambda run, asked: bool(run.retry(seen=asked.seen)),
        will=_retry_will,
        wont=lambda run, receipts, now, step: [_("The payload is not changed.")],
    )
    return (retry, *common(machine))


def _retry_will(run: Any, receipts: Sequence[Any], now: datetime, step: str) -> list[str]:
    return [
        _("The message is due at once, with a fresh budget of attempts, under the same key, %(key)s.")
        % {"key": run.key},
        next_worker(),
        *about_repeats(receipts),
    ]
