"""
Standing: where a run stands, in one word, for lists, filters and sentences. The same word everywhere.
"""

from __future__ import annotations

import enum
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils.translation import pgettext_lazy

from .clock import InSeconds
from .conf import setting
from .owner import is_gone

__all__ = ["MANY_ATTEMPTS", "WORDS", "Standing", "bad_endings", "is_stuck", "is_stuck_sql", "patience_of", "standing",
           "status_word", "trouble", "word"]  # fmt: skip

#: So many attempts without a receipt between them, and it is told to somebody even where the budget has no end.
MANY_ATTEMPTS = 5


class Standing(enum.StrEnum):
    """Where a run stands."""

    DUE = "due"  # its time has come and nobody holds it
    WAITING = "waiting"  # its time has not come
    RUNNING = "running"  # somebody holds it
    REMOTE = "remote"  # it runs on a far side; nobody of ours holds it, and it is looked at when its time comes
    LAPSED = "lapsed"  # somebody held it and let the lease run out
    ORPHANED = "orphaned"  # its owner provably no longer exists
    DECISION = "decision"  # open, and no worker may take it until a person decides
    DONE = "done"
    DEAD = "dead"  # given up: settled, and a person must look
    SETTLED = "settled"  # settled in another way: canceled, rejected, expired


WORDS = {
    Standing.DUE: pgettext_lazy("run", "Due"),
    Standing.WAITING: pgettext_lazy("run", "Waiting"),
    Standing.RUNNING: pgettext_lazy("run", "Running"),
    Standing.REMOTE: pgettext_lazy("run", "Running over there"),
    Standing.LAPSED: pgettext_lazy("run", "Lapsed"),
    Standing.ORPHANED: pgettext_lazy("run", "Orphaned"),
    Standing.DECISION: pgettext_lazy("run", "Needs a decision"),
    Standing.DONE: pgettext_lazy("run", "Done"),
    Standing.DEAD: pgettext_lazy("run", "Given up"),
    Standing.SETTLED: pgettext_lazy("run", "Settled"),
}

#: Terminal statuses that have a word of their own.
_STATUSES = {
    "canceled": pgettext_lazy("run", "Canceled"),
    "failed": pgettext_lazy("run", "Failed"),
    "sent": pgettext_lazy("run", "Sent"),
    "rejected": pgettext_lazy("run", "Rejected"),
    "expired": pgettext_lazy("run", "Expired"),
    "executed": pgettext_lazy("run", "Executed"),
    "unknown": pgettext_lazy("run", "Unknown"),
}


def standing(run: Any, now: datetime) -> Standing:
    """Return where the run stands at that time, which is the database's."""
    machine = run.MACHINE
    if run.status == machine.done:
        return Standing.DONE
    if run.status == machine.dead:
        return Standing.DEAD
    if run.status in machine.terminal:
        return Standing.SETTLED
    if run.status not in machine.open:
        return Standing.DECISION
    if run.status == machine.claimed:
        if run.lease_expires_at is None and not run.owner:
            return Standing.REMOTE
        if run.lease_expires_at is None or run.lease_expires_at <= now:
            return Standing.LAPSED
        return Standing.ORPHANED if is_gone(run.owner) else Standing.RUNNING
    return Standing.DUE if run.due_at is None or run.due_at <= now else Standing.WAITING


def word(run: Any, now: datetime) -> str:
    """Return where the run stands as a person says it."""
    at = standing(run, now)
    named = run.status in run.MACHINE.terminal or at is Standing.DECISION
    return str((_STATUSES.get(run.status) if named else None) or WORDS[at])


def status_word(machine: Any, status: str) -> str:
    """Return a terminal status, or one that no worker takes runs from, as a person says it."""
    known = {machine.done: WORDS[Standing.DONE], machine.dead: WORDS[Standing.DEAD]}
    other = status.capitalize() if status in machine.terminal else WORDS[Standing.DECISION]
    return str(_STATUSES.get(status) or known.get(status) or other)


def patience_of() -> timedelta:
    """Return how long a run may be due, and a lease lapsed, before that is trouble: longer than a takeover takes."""
    return timedelta(seconds=max(300.0, 5 * float(setting("LEASE"))))


def is_stuck(run: Any, now: datetime) -> bool:
    """Return whether an open run should long have moved: due for too long, or tried many times without a receipt."""
    if run.status not in run.MACHINE.open:
        return False
    at = standing(run, now)
    since = None
    if at is Standing.LAPSED:
        since = run.lease_expires_at
    elif at in (Standing.DUE, Standing.REMOTE):
        since = run.due_at
    overdue = since is not None and now - since > patience_of()
    return overdue or (run.attempts >= MANY_ATTEMPTS and bool(run.last_error))


def is_stuck_sql(machine: Any) -> Q:
    """Return what `is_stuck` asks as a condition on rows: open, and long due, long lapsed, or tried many times."""
    long_ago = InSeconds(-patience_of().total_seconds())
    overdue = Q(lease_expires_at__isnull=True, due_at__lte=long_ago) | Q(lease_expires_at__lte=long_ago)
    tried = Q(attempts__gte=MANY_ATTEMPTS) & ~Q(last_error="")
    return Q(due_at__isnull=False, status__in=machine.open) & (overdue | tried)


def trouble(machine: Any) -> Q:
    """
    Return what is true of settled runs that a person must look at.

    Each has an error, and an index holds the settled runs that have one: millions that went well cost the look nothing.
    """
    return Q(status__in=bad_endings(machine), due_at__isnull=True) & ~Q(last_error="")


def bad_endings(machine: Any) -> list[str]:
    """Return the terminal statuses that a person must look at. Whoever settles a run so writes down why."""
    return sorted({machine.dead, "failed"} & machine.terminal)
