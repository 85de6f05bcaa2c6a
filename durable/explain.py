"""
Explain: one sentence on what a run is doing, why, and what happens next by itself.

The same words in the admin, in `reconcile --explain` and in `job.explain()`. It reads the row it is given, and asks the
database for the time once, as only that clock says whether a lease has lapsed.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import connections

from . import clock
from .owner import is_gone, parse

__all__ = ["duration", "explain"]


def explain(run: Any) -> str:
    """Return the sentence for a run of any shape."""
    now = clock.read(connections[run._state.db or "default"])
    own = run.in_a_sentence(now)
    if own:
        return str(own)
    receipts = run.receipts()
    recorded = sum(receipt.at is not None for receipt in receipts)
    progress = f"{recorded} of {len(receipts)} steps done"
    if run.status in run.MACHINE.terminal:
        return _settled(run, progress)
    following = next((receipt.step for receipt in receipts if receipt.at is None), "the settlement")
    if run.status == run.MACHINE.claimed:
        return _held(run, now, progress, following)
    why = run.standstill()
    if why:
        return f"Held up: {why}; {progress}, next is {following}.{_because(run)}"
    if run.due_at is None or run.due_at <= now:
        return f"Due: {progress}; the next worker or boot pass goes on with {following}.{_because(run)}"
    verb = "retried" if run.last_error and run.failures else "continued"
    at = f"{run.due_at:%H:%M:%S} UTC"
    return (
        f"Waiting: {verb} by itself in {duration(run.due_at - now)} (at {at}), or at the next boot pass; "
        f"{progress}, next is {following}.{_because(run)}"
    )


def _settled(run: Any, progress: str) -> str:
    when = f"{run.settled_at:%Y-%m-%d %H:%M:%S} UTC" if run.settled_at else "an unknown time"
    if run.status == run.MACHINE.done:
        return f"Done since {when}; it never runs again."
    if run.status == run.MACHINE.dead:
        return f"Given up at {when} with {progress}; nothing happens by itself, it needs a decision.{_because(run)}"
    return f"{run.status.capitalize()} at {when} with {progress}; nothing happens by itself.{_because(run)}"


def _held(run: Any, now: datetime, progress: str, following: str) -> str:
    owner = parse(run.owner)
    who = f"{owner.host}, process {owner.pid}," if owner else run.owner or "an unknown owner"
    if run.lease_expires_at is None or run.lease_expires_at <= now:
        return f"Lapsed: {who} let its lease run out during {following}; the next worker takes over, {progress}."
    until = f"{run.lease_expires_at:%H:%M:%S} UTC, {duration(run.lease_expires_at - now)} from now"
    if is_gone(run.owner):
        return f"Orphaned: {who} no longer exists; a boot pass on its host takes over at once, others at {until}; {progress}."
    return f"Running: held by {who} until {until}; {progress}, now at {following}."


def _because(run: Any) -> str:
    return f" Last: {run.last_error.splitlines()[0][:200]}" if run.last_error else ""


def duration(span: timedelta) -> str:
    """Return a length of time in the largest unit that still tells something: 4 s, 12 min, 3 h, 2 days."""
    seconds = max(0.0, span.total_seconds())
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
