"""
Reports: what `reconcile --list`, `--explain` and `--dry-run` answer, as text, as a table, and as JSON. They change nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connections
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from . import clock, explain, kinds
from .contract import Taking
from .standing import is_stuck, standing, word

__all__ = ["Answer", "describe", "list_open", "plan"]

_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Sentences for people, a table for people at a terminal, a value for programs."""

    value: Any
    lines: list[str]
    heading: Sequence[str] = ()
    titles: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()  # a cell: text, (standing, word), or (done, all)
    footing: Sequence[str] = ()

    def as_json(self) -> Any:
        return self.value

    def as_text(self) -> str:
        return "\n".join(self.lines)


def describe(kind: str, ident: str) -> Answer:
    """
    Return one run, found by its id or key, with its sentence and its receipts.

    Raises:
        kinds.UnknownKind: no such kind, or no such run.
    """
    model = kinds.find(kind)
    rows = kinds.rows_of(model)
    run = rows.filter(key=ident).first()
    if run is None:
        try:
            run = rows.filter(pk=uuid.UUID(ident)).first()
        except ValueError:
            run = None
    if run is None:
        message = f"{kinds.name_of(model)} has no run with the id or key {ident!r}; --list shows those that are open"
        raise kinds.UnknownKind(message)
    now, receipts = explain.now_of(run), run.receipts()
    failures = [
        f"  ✗ {entry['at']}  {entry['step']}  attempt {entry['attempt']}  {entry['type']}: {entry['message']}"
        for entry in run.failures
    ]
    heading = [f"{kinds.name_of(model)} {run.key or run.pk}", explain.explain(run, now, receipts)]
    return Answer(
        value={**_row(model, run, now), "receipts": [_receipt(one) for one in receipts], "failures": run.failures},
        lines=[*heading, *(_line(receipt) for receipt in receipts), *failures],
        heading=heading,
        titles=["", _("Step"), _("Guarantee"), _("Recorded"), _("Took"), _("Starts"), _("By")],
        rows=[_cells(receipt) for receipt in receipts],
        footing=failures,
    )


def _receipt(receipt: Any) -> dict[str, Any]:
    return {
        "step": receipt.step,
        "guarantee": receipt.guarantee,
        "at": receipt.at.isoformat() if receipt.at else None,
        "took": receipt.took,
        "owner": receipt.owner,
        "starts": receipt.starts,
        "skipped": receipt.skipped,
        "key": receipt.key,
    }


def _mark(receipt: Any) -> str:
    return "⤼" if receipt.skipped else "✓" if receipt.at else "○"


def _line(receipt: Any) -> str:
    when = f"{receipt.at:%Y-%m-%d %H:%M:%S} UTC by {receipt.owner}" if receipt.at else "-"
    said = f"  {_mark(receipt)} {receipt.step}  {receipt.guarantee}  {when}  starts: {receipt.starts}"
    return f"{said}  skipped: {receipt.skipped}" if receipt.skipped else said


def _cells(receipt: Any) -> list[Any]:
    took = "–" if receipt.took is None else f"{receipt.took:.1f} s"
    left_out = _("skipped")
    name = f"{receipt.step} ({left_out}: {receipt.skipped})" if receipt.skipped else receipt.step
    when = f"{receipt.at:%Y-%m-%d %H:%M:%S} UTC" if receipt.at else "–"
    return [_mark(receipt), name, receipt.guarantee, when, took, receipt.starts, receipt.owner or "–"]


def list_open(models: list[type[Any]]) -> Answer:
    """Return every open run with its sentence, oldest due first, at most a thousand of each kind."""
    found = []
    for model in models:
        now = clock.read(connections[kinds.alias_of(model)])
        found += [(model, run, now) for run in _open(model).order_by("due_at")[:_MOST]]
    told = [(model, run, now, explain.explain(run, now)) for model, run, now in found]
    return Answer(
        value=[_row(model, run, now, said) for model, run, now, said in told],
        lines=[f"{kinds.name_of(model)} {run.key or run.pk}: {said}" for model, run, _now, said in told]
        or ["No open run."],
        titles=[_("Kind"), _("Run"), _("State"), _("Progress"), _("What it does, and what comes next")],
        rows=[
            [kinds.name_of(model), run.key or run.pk, (standing(run, now), word(run, now)), run.progress(), said]
            for model, run, now, said in told
        ],
    )


def plan(models: list[type[Any]], *, due_only: bool) -> Answer:
    """Return what a pass would do with each open run: take it, or why not."""
    value, lines = [], []
    for model in models:
        takeable = _open(model).filter(Taking(ahead=not due_only and not model.PATIENT).condition(model.MACHINE))
        held = _open(model).filter(status=model.MACHINE.claimed, lease_expires_at__gt=Now())
        counts = {"kind": kinds.name_of(model), "would_take": takeable.count(), "held_by_others": held.count()}
        value.append(counts)
        lines.append(f"{counts['kind']}: would take {counts['would_take']}, held by others {counts['held_by_others']}")
        lines += [
            f"  would take {run.key or run.pk}: {explain.explain(run)}" for run in takeable.order_by("due_at")[:20]
        ]
    return Answer(value=value, lines=lines or ["No kind of run is installed."])


def _open(model: type[Any]) -> Any:
    return kinds.rows_of(model).open()


def _row(model: type[Any], run: Any, now: datetime, said: str = "") -> dict[str, Any]:
    done, every = run.progress()
    return {
        "kind": kinds.name_of(model),
        "id": str(run.pk),
        "key": run.key,
        "status": run.status,
        "standing": standing(run, now).value,
        "stuck": is_stuck(run, now),
        "progress": {"done": done, "all": every},
        "owner": run.owner,
        "fence": run.fence,
        "attempts": run.attempts,
        "due_at": run.due_at.isoformat() if run.due_at else None,
        "lease_expires_at": run.lease_expires_at.isoformat() if run.lease_expires_at else None,
        "last_error": run.last_error,
        "age_seconds": round((now - run.created_at).total_seconds(), 1),
        "explain": said or explain.explain(run, now),
    }
