"""
Timeline: one line a step, with what happened, when, how often, by whom, and what did not happen.

Made from receipts and kept failures alone, so it serves every shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from durable.owner import parse
from durable.redacting import redacted
from durable.standing import Standing, standing

__all__ = ["Line", "failures_of", "timeline"]

_HELD = (Standing.RUNNING, Standing.LAPSED, Standing.ORPHANED)
_WIDTH = 1000.0  # of the drawing, in its own units
_THINNEST = 8.0

_MARKS = {"done": "✓", "skipped": "⤼", "failed": "✗", "running": "●", "lost": "◌", "waiting": "○", "never": "–"}
_WORDS = {
    "done": pgettext_lazy("step", "Done"),
    "skipped": pgettext_lazy("step", "Skipped"),
    "failed": pgettext_lazy("step", "Failed"),
    "running": pgettext_lazy("step", "Running"),
    "lost": pgettext_lazy("step", "Interrupted"),
    "waiting": pgettext_lazy("step", "Waiting"),
    "never": pgettext_lazy("step", "Never reached"),
}
_GUARANTEES = {
    "exactly once": gettext_lazy("database · exactly once"),
    "keyed": gettext_lazy("external · keyed"),
    "idempotent": gettext_lazy("external · idempotent"),
    "at-least-once": gettext_lazy("external · at least once"),
    "at most once": gettext_lazy("external · at most once"),
    "shown": gettext_lazy("shown by the far side"),
}


@dataclass(slots=True, kw_only=True)
class Line:
    """One step."""

    step: str
    label: str  # the step in words, where the shape has any
    error: str  # what its receipt says of a step that did not end well
    state: str
    guarantee: str
    began: datetime | None
    ended: datetime | None
    took: str
    seconds: float | None  # of a step that is running: how long by now
    starts: int
    key: str
    owner: str
    skipped: str
    failures: list[dict[str, Any]]
    is_doubtful: bool  # its effect outside may have happened more than once
    decisions: list[Any] = field(default_factory=list)
    bar: tuple[float, float] | None = None  # where it lies in the time of the whole run
    ticks: list[float] = field(default_factory=list)  # where its failures do

    @property
    def mark(self) -> str:
        """The mark of its state."""
        return _MARKS[self.state]

    @property
    def word(self) -> str:
        """Its state as a person says it."""
        return str(_WORDS[self.state])

    @property
    def last_failure(self) -> str:
        """The newest failure in a line."""
        if not self.failures:
            return ""
        entry = self.failures[0]
        return f"{entry.get('type', '')}: {str(entry['message']).partition(chr(10))[0]}"


def timeline(run: Any, receipts: Sequence[Any], now: datetime) -> list[Line]:
    """Return the lines of a run, in the order of its steps."""
    at, failures = standing(run, now), failures_of(run)
    lines, is_next = [], True
    for receipt in receipts:
        lines.append(_line(run, receipt, at, now, failures, is_next=is_next and receipt.at is None))
        is_next = is_next and receipt.at is not None
    _draw(lines, run, now)
    return lines


def failures_of(run: Any) -> list[dict[str, Any]]:
    """Return the kept failures, newest first, each with its time, and without secrets however old it is."""
    return [
        {**entry, "at": parse_datetime(str(entry.get("at", ""))), "message": redacted(str(entry.get("message", "")))}
        for entry in run.failures
        if isinstance(entry, dict)
    ]


def _line(
    run: Any, receipt: Any, at: Standing, now: datetime, failures: Sequence[dict[str, Any]], *, is_next: bool
) -> Line:
    mine = [entry for entry in failures if entry.get("step") == receipt.step]
    state = _state(run, receipt, at, mine, is_next=is_next)
    held = state in ("running", "lost")
    ended = receipt.at or getattr(receipt, "recorded_at", None)
    began, seconds, owner = ended, None, receipt.owner
    if ended and receipt.took and not receipt.skipped:
        began = ended - timedelta(seconds=receipt.took)
    elif held:
        holder = parse(run.owner)
        began, owner = run.updated_at, holder.label if holder else run.owner
        seconds = max(0.0, (now - run.updated_at).total_seconds()) if state == "running" else None
    elif mine and state == "failed" and ended is None:
        began, owner = mine[0]["at"], str(mine[0].get("owner", ""))
    starts = receipt.starts + (1 if held and at is Standing.RUNNING else 0)
    return Line(
        step=receipt.step,
        label=getattr(receipt, "words", "") or receipt.step,
        error=redacted(getattr(receipt, "error", "")),
        state=state,
        guarantee=str(_GUARANTEES.get(receipt.guarantee, receipt.guarantee)),
        began=began,
        ended=ended,
        took=_took(receipt, seconds),
        seconds=seconds,
        starts=starts,
        key=receipt.key,
        owner=owner,
        skipped=receipt.skipped,
        failures=mine,
        is_doubtful=receipt.guarantee != "exactly once" and (starts > 1 or (state == "lost" and starts > 0)),
    )


def _state(run: Any, receipt: Any, at: Standing, mine: list[dict[str, Any]], *, is_next: bool) -> str:
    if receipt.skipped:
        return "skipped"
    if receipt.at is not None:
        return "done"
    kind = getattr(receipt, "kind", "")
    if kind and at not in _HELD:
        return "lost" if kind == "begun" else "failed"
    if receipt.guarantee == "at most once" and receipt.starts and at not in _HELD:
        return "lost"  # begun, and nobody wrote down whether it was taken
    if is_next and at in _HELD:
        return "running" if at is Standing.RUNNING else "lost"
    if mine:
        return "failed"
    return "never" if run.status in run.MACHINE.terminal else "waiting"


def _took(receipt: Any, seconds: float | None) -> str:
    if seconds is not None:
        return length(seconds)
    if receipt.at is None or receipt.skipped:
        return "–"
    if receipt.took is None:
        return _("< 0.1 s") if receipt.guarantee == "exactly once" else "–"
    return length(receipt.took)


def length(seconds: float) -> str:
    """Return a length of time as one reads it off a stop watch: 0.4 s, 12 s, 3 min 20 s."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s"
    return pgettext("length of time", "%(hours)s h %(minutes)s min") % {"hours": minutes // 60, "minutes": minutes % 60}


def _draw(lines: list[Line], run: Any, now: datetime) -> None:
    """Place each step in the time from the first thing that happened to the last."""
    moments = [moment for line in lines for moment in (line.began, line.ended) if moment]
    moments += [entry["at"] for line in lines for entry in line.failures if entry["at"]]
    if any(line.state == "running" for line in lines):
        moments.append(now)
    if not moments:
        return
    first, span = min(moments), max((max(moments) - min(moments)).total_seconds(), 0.001)

    def place(moment: datetime) -> float:
        return round((moment - first).total_seconds() / span * (_WIDTH - _THINNEST), 1)

    for line in lines:
        end = line.ended or (now if line.state == "running" else None)
        if line.began and end and line.state in ("done", "running", "skipped"):
            start = place(line.began)
            line.bar = (start, round(max(_THINNEST, place(end) - start), 1))
        line.ticks = [place(entry["at"]) for entry in line.failures if entry["at"]]
