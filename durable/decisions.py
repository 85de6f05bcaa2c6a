"""
Decisions: what people may do to an operation, each one conditional UPDATE, recorded on the row with who and when.

They never call the far side: they move the row, and a worker does the rest. Every one takes the next fence, so that
whoever held the row before writes nothing over it.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Case, F, Func, JSONField, Q, When
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from . import calls, explain, waking
from .clock import InSeconds
from .contract import transition
from .errors import AlreadyInFlight
from .flights import flight
from .run import clean_text, storable

__all__ = ["cancel", "it_did_not_happen", "it_happened", "look_again", "nudge", "tell", "when"]

_AT_LEAST = 1.0  # seconds between two looks, however many people watch
_OPEN = ("queued", "running")
_PATIENCE = 10


def cancel(op: Any, *, by: Any) -> bool:
    """See `Operation.cancel`."""
    noted, moved = _noted(op, "cancel", by), None
    with transaction.atomic(using=op._state.db):
        # Decided by what was read, written only where that is still so; else read again.
        for _try in range(_PATIENCE):
            moved = _cancel_as_it_stands(op, noted)
            if moved is not None:
                break
    op.refresh_from_db()
    if moved and op.status in _OPEN:
        waking.ring_after_commit(op._state.db or "default")
    return bool(moved)


def _cancel_as_it_stands(op: Any, noted: Any) -> bool | None:
    """Return whether it is given up or will be; None where it changed while we looked."""
    seen = op.rows().values("kind", "status", "fence", "begun_at", "lease_expires_at", "cancel_asked_at").first()
    if seen is None or seen["status"] not in (*_OPEN, "unknown"):
        return False
    same, kind = op.rows().filter(fence=seen["fence"]), calls.find(seen["kind"])
    left: dict[str, Any] = {"flight": None, "decisions": noted}
    if seen["status"] == "unknown":
        return transition(same, "unknown", "canceled", **left, **_next()) or None
    if seen["begun_at"] is None:
        # The stamp of a beginning is a fenced write: one that was not stamped by now never will be.
        never = same.filter(begun_at__isnull=True)
        return transition(never, _OPEN, "canceled", last_error="canceled before it was begun", **left) or None
    if seen["lease_expires_at"] is None and not (kind and kind.can_cancel):
        note = "no longer watched: the far side cannot be asked to stop, and may finish it"
        free = same.filter(lease_expires_at__isnull=True)
        return transition(free, _OPEN, "canceled", last_error=note, **left) or None
    if seen["cancel_asked_at"] is not None:
        return True
    # Where nobody holds it a worker asks now; else once its owner gives it back.
    soon = Case(When(_may_look(), lease_expires_at__isnull=True, then=Now()), default=F("due_at"))
    asked: dict[str, Any] = {"cancel_asked_at": Now(), "decisions": noted, "updated_at": Now(), "due_at": soon}
    return same.filter(status__in=_OPEN, cancel_asked_at__isnull=True).update(**asked) > 0 or None


def look_again(op: Any, *, by: Any) -> bool:
    """See `Operation.look_again`."""
    begun = op.rows().filter(begun_at__isnull=False)
    return _decide(op, begun, ("unknown", "failed"), "running", "look again", by, **_boarding(op))


def it_happened(op: Any, handle: str, *, by: Any) -> bool:
    """See `Operation.it_happened`."""
    if not isinstance(handle, str) or not handle.strip() or storable(handle, 4_000) != handle:
        message = _("A handle is a text of 1 to 4000 characters, as the far side gave it, not %(handle)s.") % {
            "handle": f"{handle!r:.120}"
        }
        raise ValueError(message)
    kept: dict[str, Any] = {
        "handle": handle.strip(), "accepted_at": Now(), "accepted_by": _name(by), "accepted_fence": F("fence") + 1,
    }  # fmt: skip
    said = f"it happened, as {handle.strip()}"
    # The stamp too: one that was never begun by us, and that somebody began by hand, must not be begun by us either.
    return _decide(op, op.rows(), "unknown", "running", said, by, begun_at=Now(), **kept, **_boarding(op))


def it_did_not_happen(op: Any, *, by: Any) -> bool:
    """See `Operation.it_did_not_happen`."""
    fresh: dict[str, Any] = {
        "handle": "", "begun_at": None, "begun_fence": None, "accepted_at": None, "accepted_fence": None, "accepted_by": "",
        "cancel_asked_at": None, "cancel_sent_at": None,
    }  # fmt: skip
    return _decide(op, op.rows(), "unknown", "queued", "it did not happen", by, watched=None, **fresh, **_boarding(op))


def nudge(op: Any) -> bool:
    """See `Operation.nudge`."""
    kind = calls.find(op.kind)
    pause = max(_AT_LEAST, min(kind.every, 60.0)) if kind else _AT_LEAST
    waits = op.rows().filter(_may_look(), status__in=_OPEN, lease_expires_at__isnull=True, due_at__gt=Now())
    moved: bool = waits.filter(updated_at__lte=InSeconds(-pause)).update(due_at=Now()) > 0
    if moved:
        waking.ring_after_commit(op._state.db or "default")
    return moved


def tell(op: Any, now: datetime) -> str:
    """Return one sentence on how it stands where nobody holds it; an empty one where the common sentence says it."""
    said = _how(op, now)
    if said and op.last_error:
        return said + " " + _("Last: %(error)s") % {"error": op.last_error.splitlines()[0][:300]}
    return said


def _how(op: Any, now: datetime) -> str:
    shows = _("the far side has shown no status yet")
    if op.far_status:
        shows = _("the far side shows %(status)r") % {"status": op.far_status}
    facts = {"at": f"{op.settled_at:%Y-%m-%d %H:%M:%S} UTC" if op.settled_at else "", "shows": shows}
    if op.status == "unknown":
        said = _(
            "Unknown since %(at)s; %(shows)s. Nothing happens by itself. A person must decide: look again, it happened "
            "(with its handle), or it did not happen (it is begun again)."
        )
        return said % facts
    if op.status == "failed":
        return _("Failed at %(at)s, says the far side; nothing happens by itself.") % facts
    if op.status == "canceled":
        return _("Canceled at %(at)s; nothing happens by itself.") % facts
    return _over_there(op, now, facts) if op.status == "running" and op.lease_expires_at is None else ""


def _over_there(op: Any, now: datetime, facts: dict[str, str]) -> str:
    why = op.standstill()
    if why:
        return _("Held up: %(why)s; %(shows)s.") % {"why": why, **facts}
    said = _("Running over there: %(shows)s; the next look is now due.") % facts
    if op.due_at is not None and op.due_at > now:
        facts |= {"span": explain.duration(op.due_at - now), "time": f"{op.due_at:%H:%M:%S} UTC"}
        said = _("Running over there: %(shows)s; the next look is in %(span)s (at %(time)s).") % facts
    if op.cancel_sent_at:
        said += " " + _("It was asked to stop.")
    elif op.cancel_asked_at:
        said += " " + _("It will be asked to stop.")
    if not op.handle:
        said += " " + _("Nobody knows yet whether it was begun; it is looked for.")
    return said


def when(text: str) -> datetime:
    """Return a time that was kept as text."""
    return datetime.fromisoformat(text)


def _decide(
    op: Any,
    rows: Any,
    source: str | tuple[str, ...],
    target: str,
    said: str,
    by: Any,
    watched: Any = Now,
    **changes: Any,
) -> bool:
    """Move it if it is still there, and keep who decided what. A decision starts the watching anew."""
    given: dict[str, Any] = {
        "attempts": 0, "losses": 0, "held_until": None, "decisions": _noted(op, said, by),
        "watched_since": watched() if watched else None, **_next(), **changes,
    }  # fmt: skip
    try:
        with transaction.atomic(using=op._state.db):
            moved = transition(rows, source, target, **given)
    except IntegrityError as error:
        other = type(op)._base_manager.using(op._state.db).filter(flight=given.get("flight")).first()
        if other is None:
            raise
        message = _("%(run)s: another operation has taken its place meanwhile: %(other)s is %(status)s. Wait for it.")
        message %= {"run": op, "other": other, "status": other.status}
        raise AlreadyInFlight(message, other) from error
    op.refresh_from_db()
    if moved:
        waking.ring_after_commit(op._state.db or "default")
    return moved


def _next() -> dict[str, Any]:
    # Running again without a claim: who held it last must not match it, though its status does.
    return {"fence": F("fence") + 1}


def _boarding(op: Any) -> dict[str, Any]:
    return {"flight": flight(op.kind, op.one_at_a_time)}


def _may_look() -> Q:
    return Q(held_until__isnull=True) | Q(held_until__lte=Now())


def _name(by: Any) -> str:
    return clean_text(str(by), 200)[:200] if by else ""


def _noted(op: Any, what: str, by: Any) -> Any:
    at = explain.now_of(op)
    return _Appended("decisions", {"at": at.isoformat(), "by": _name(by), "what": clean_text(what, 4_200)})


class _Appended(Func):
    """A list with one more entry, worked out by the database: two people at once lose none."""

    output_field = JSONField()

    def __init__(self, column: str, entry: dict[str, Any]) -> None:
        super().__init__(F(column))
        self._entry = entry

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, list[Any]]:
        sql, params = compiler.compile(self.get_source_expressions()[0])
        return f"{sql} || jsonb_build_array(%s::jsonb)", [*params, connection.ops.adapt_json_value(self._entry, None)]

    def as_sqlite(  # type: ignore[override]
        self, compiler: Any, connection: Any, **extra: Any
    ) -> tuple[str, list[Any]]:
        sql, params = compiler.compile(self.get_source_expressions()[0])
        return f"json_insert({sql}, '$[#]', json(%s))", [*params, json.dumps(self._entry)]
