"""
Explain: one sentence on what a run is doing, why, and what happens next by itself.

The same words in the admin, in `reconcile --explain` and in `job.explain()`. It reads the row it is given, and asks the
database for the time once, as only that clock says whether a lease has lapsed.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import connections
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from . import clock
from .owner import parse
from .standing import Standing, standing, word

__all__ = ["duration", "explain", "now_of", "progress"]


def explain(run: Any, now: datetime | None = None, receipts: list[Any] | None = None) -> str:
    """
    Return the sentence for a run of any shape.

    Args:
        run: the row as it stands.
        now: the database's time, where the caller has just asked for it.
        receipts: the run's receipts, where the caller has just read them.
    """
    now = now or now_of(run)
    own = run.in_a_sentence(now)
    if own:
        return str(own)
    receipts = run.receipts() if receipts is None else receipts
    at, done = standing(run, now), progress(receipts)
    following = next((receipt.step for receipt in receipts if receipt.at is None), _("the settlement"))
    match at:
        case Standing.DONE | Standing.DEAD | Standing.SETTLED:
            return _settled(run, at, done, receipts)
        case Standing.RUNNING | Standing.LAPSED | Standing.ORPHANED:
            return _held(run, at, now, done, following)
    why = run.standstill()
    if at is Standing.DECISION:
        said = _("%(word)s: %(why)s; nothing happens by itself; %(progress)s.")
        why = why or _("no worker takes it while it is %(status)s") % {"status": run.status}
        return said % {"word": word(run, now), "why": why, "progress": done} + _because(run)
    if why:
        said = _("Held up: %(why)s; %(progress)s, next is %(step)s.")
        return said % {"why": why, "progress": done, "step": following} + _because(run)
    if at is Standing.DUE:
        said = _("Due: %(progress)s; the next worker or boot pass goes on with %(step)s.")
        return said % {"progress": done, "step": following} + _because(run)
    facts = {
        "span": duration(run.due_at - now),
        "at": f"{run.due_at:%H:%M:%S} UTC",
        "progress": done,
        "step": following,
    }
    return _next_time(run) % facts + _because(run)


def now_of(run: Any) -> datetime:
    """Return the time of the database that holds the run."""
    now: datetime = clock.read(connections[run._state.db or "default"])
    return now


def progress(receipts: list[Any]) -> str:
    """Return how far a run has come: 3 of 5 steps done."""
    skipped = sum(bool(receipt.skipped) for receipt in receipts)
    facts = {"done": sum(receipt.at is not None for receipt in receipts) - skipped, "all": len(receipts)}
    said = ngettext("%(done)s of %(all)s step done", "%(done)s of %(all)s steps done", len(receipts)) % facts
    return said + _(", %(count)s skipped") % {"count": skipped} if skipped else said


def _next_time(run: Any) -> str:
    retried = bool(run.last_error and run.failures)
    if run.PATIENT:
        if retried:
            return _("Waiting: retried by itself in %(span)s (at %(at)s); %(progress)s, next is %(step)s.")
        return _("Waiting: continued by itself in %(span)s (at %(at)s); %(progress)s, next is %(step)s.")
    if retried:
        return _(
            "Waiting: retried by itself in %(span)s (at %(at)s), or at the next boot pass; %(progress)s, next is %(step)s."
        )
    return _(
        "Waiting: continued by itself in %(span)s (at %(at)s), or at the next boot pass; %(progress)s, next is %(step)s."
    )


def _settled(run: Any, at: Standing, done: str, receipts: list[Any]) -> str:
    when = f"{run.settled_at:%Y-%m-%d %H:%M:%S} UTC" if run.settled_at else _("an unknown time")
    if at is Standing.DONE:
        said = _("Done since %(when)s; it never runs again.") % {"when": when}
        names = [receipt.step for receipt in receipts if receipt.skipped]
        return said + " " + _("Skipped by decision: %(steps)s.") % {"steps": ", ".join(names)} if names else said
    if at is Standing.DEAD:
        said = _("Given up at %(when)s with %(progress)s; nothing happens by itself, it needs a decision.")
    else:
        said = _("%(word)s at %(when)s with %(progress)s; nothing happens by itself.")
    return said % {"word": word(run, run.settled_at), "when": when, "progress": done} + _because(run)


def _held(run: Any, at: Standing, now: datetime, done: str, following: str) -> str:
    owner = parse(run.owner)
    if owner:
        who = _("%(host)s, process %(pid)s,") % {"host": owner.host, "pid": owner.pid}
    else:
        who = run.owner or _("an unknown owner")
    facts = {"who": who, "step": following, "progress": done}
    if at is Standing.LAPSED:
        said = _("Lapsed: %(who)s let its lease run out during %(step)s; the next worker takes over, %(progress)s.")
        return said % facts
    facts["until"] = _("%(time)s UTC, %(span)s from now") % {
        "time": f"{run.lease_expires_at:%H:%M:%S}",
        "span": duration(run.lease_expires_at - now),
    }
    if at is Standing.ORPHANED:
        return (
            _(
                "Orphaned: %(who)s no longer exists; a boot pass on its host takes over at once, others at %(until)s; "
                "%(progress)s."
            )
            % facts
        )
    return _("Running: held by %(who)s until %(until)s; %(progress)s, now at %(step)s.") % facts


def _because(run: Any) -> str:
    if not run.last_error:
        return ""
    return " " + _("Last: %(error)s") % {"error": run.last_error.splitlines()[0][:200]}


def duration(span: timedelta) -> str:
    """Return a length of time in the largest unit that still tells something: 4 s, 12 min, 3 h, 2 days."""
    seconds = max(0.0, span.total_seconds())
    if seconds >= 2 * 86400:
        return pgettext("length of time", "%(number)s days") % {"number": f"{seconds / 86400:.0f}"}
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
