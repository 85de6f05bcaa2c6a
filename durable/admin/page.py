"""The page of one run: its sentence, its facts, its timeline, its buttons, its decisions, and the raw row folded away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import display_for_field
from django.contrib.contenttypes.models import ContentType
from django.utils.translation import gettext as _

from durable import standing as standings
from durable.explain import duration, explain
from durable.models import Worker
from durable.owner import current, is_gone, parse
from durable.redacting import REDACTED, is_secret_name, redacted, without_secrets

from .badges import MARKS, TONES
from .timeline import failures_of, timeline

__all__ = ["Made", "Panel", "context_of", "decisions_of", "fields_of"]

_DECISIONS = 50
_LONGEST = 20_000

#: Seconds until the page looks again, while something may happen by itself.
_LOOKS = {
    standings.Standing.RUNNING: 2,
    standings.Standing.REMOTE: 5,
    standings.Standing.DUE: 2,
    standings.Standing.LAPSED: 3,
    standings.Standing.ORPHANED: 3,
    standings.Standing.WAITING: 10,
    standings.Standing.DECISION: 15,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A decision that was made."""

    at: datetime
    by: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A part of the page that is folded away until somebody wants it."""

    name: str  # in the page's ids
    title: str
    body: Any  # HTML, escaped where it is made
    is_open: bool = False


def context_of(
    run: Any, now: datetime, buttons: Sequence[Any], panels: Sequence[Panel], made: Sequence[Made]
) -> dict[str, Any]:
    """Return what the template needs. `buttons` are the decisions this person may make of this run now."""
    receipts = run.receipts()
    at = standings.standing(run, now)
    lines = timeline(run, receipts, now)
    for line in lines:
        if line.state not in ("done", "skipped"):
            line.decisions = [one for one in buttons if one.of_step]
    sentence = redacted(explain(run, now, receipts))
    word = standings.word(run, now)
    return {
        "run": run,
        "standing": at.value,
        "tone": "bad" if run.status == "failed" else TONES[at],
        "mark": MARKS[at],
        "word": word,
        "sentence": _after(word, sentence),
        "stuck": standings.is_stuck(run, now),
        "facts": _facts(run, now, at),
        "lines": lines,
        "doubtful": [line for line in lines if line.is_doubtful],
        "loose_failures": _loose(run, lines),
        "receipts": receipts,
        "buttons": [one for one in buttons if not one.of_step],
        "decisions": made,
        "panels": panels,
        "every": _LOOKS.get(at, 0),
        "now": now,
    }


def _after(word: str, sentence: str) -> str:
    """Return the sentence without the word that the badge before it says already."""
    rest = sentence.removeprefix(f"{word}: ")
    return rest[:1].upper() + rest[1:]


def _loose(run: Any, lines: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the failures that belong to no step of today's code."""
    steps = {line.step for line in lines}
    return [entry for entry in failures_of(run) if entry.get("step") not in steps]


def _facts(run: Any, now: datetime, at: standings.Standing) -> list[tuple[str, str, float | None]]:
    """Return (what, value, seconds that count down) in the order one asks: who, until when, next, how often, since when."""
    facts: list[tuple[str, str, float | None]] = []
    if run.owner:
        since = Worker.objects.filter(owner=run.owner).values_list("began_at", flat=True).first()
        said = _(", reconciling since %(time)s UTC") % {"time": f"{since:%Y-%m-%d %H:%M}"} if since else ""
        facts.append((_("Held by"), owner_in_words(run.owner) + said, None))
    if run.lease_expires_at is not None and run.status == run.MACHINE.claimed:
        left = (run.lease_expires_at - now).total_seconds()
        span = _("for %(span)s") % {"span": duration(timedelta(seconds=left))} if left > 0 else _left(left)
        facts.append((_("Lease"), span, left if left > 0 else None))
    if at in (standings.Standing.WAITING, standings.Standing.REMOTE) and run.due_at:
        left = (run.due_at - now).total_seconds()
        facts.append((_("Next by itself"), _left(left) if left > 0 else _("now"), left if left > 0 else None))
    elif run.status in run.MACHINE.terminal or at is standings.Standing.DECISION:
        nothing = _("nothing: it is settled") if at is standings.Standing.DONE else _("nothing: it needs a decision")
        facts.append((_("Next by itself"), nothing, None))
    if run.attempts:
        facts.append((_("Attempts since the last receipt"), str(run.attempts), None))
    if run.losses:
        facts.append((_("Workers lost in a row"), str(run.losses), None))
    facts.append((_("Begun"), _("%(span)s ago") % {"span": duration(now - run.created_at)}, None))
    if run.settled_at:
        facts.append((_("Settled"), _("%(span)s ago") % {"span": duration(now - run.settled_at)}, None))
    facts.append((_("Fence"), str(run.fence), None))
    return facts


def _left(seconds: float) -> str:
    if seconds > 0:
        return _("in %(span)s") % {"span": duration(timedelta(seconds=seconds))}
    return _("lapsed %(span)s ago") % {"span": duration(timedelta(seconds=-seconds))}


def owner_in_words(text: str) -> str:
    """Return who holds a run, and whether that process can be seen from here."""
    owner = parse(text)
    if owner is None:
        return text
    said = _("%(host)s, process %(pid)s") % {"host": owner.host, "pid": owner.pid}
    if is_gone(text):
        return said + " – " + _("no longer exists")
    here = current()
    if (owner.host, owner.boot, owner.pids) == (here.host, here.boot, here.pids) and owner.pids:
        return said + " – " + _("alive on this host")
    return said + " – " + _("cannot be seen from here")


def decisions_of(run: Any) -> list[Made]:
    """Return what staff decided about the run, newest first, as Django's own history has it."""
    kind = ContentType.objects.get_for_model(type(run), for_concrete_model=False)
    entries = LogEntry.objects.filter(content_type=kind, object_id=str(run.pk)).select_related("user")
    return [
        Made(at=entry.action_time, by=entry.user.get_username(), said=entry.get_change_message())
        for entry in entries.order_by("-action_time")[:_DECISIONS]
    ]


def fields_of(run: Any, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return (name, value) of the fields named, as the admin shows values; what is secret by its name is not shown."""
    found = []
    for name in names:
        field = run._meta.get_field(name)
        value = getattr(run, field.attname)
        if is_secret_name(name) and value not in (None, ""):
            shown = REDACTED
        elif isinstance(value, dict | list):
            shown = str(display_for_field(without_secrets(value), field, "–"))
        else:
            shown = redacted(str(display_for_field(value, field, "–")))
        found.append((name, shown if len(shown) <= _LONGEST else shown[:_LONGEST] + " …"))
    return found
