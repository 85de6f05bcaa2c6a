"""
Reports: what `reconcile --list`, `--explain` and `--dry-run` answer, as text and as JSON. They change nothing.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.db.models.functions import Now

from . import clock, explain, kinds
from .contract import Taking

__all__ = ["describe", "list_open", "plan"]

_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Answer:
    """Sentences for people, a value for programs."""

    value: Any
    lines: list[str]

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
    receipts = [
        {
            "step": receipt.step,
            "guarantee": receipt.guarantee,
            "at": receipt.at.isoformat() if receipt.at else None,
            "took": receipt.took,
            "owner": receipt.owner,
            "starts": receipt.starts,
        }
        for receipt in run.receipts()
    ]
    lines = [f"{kinds.name_of(model)} {run.key or run.pk}", explain.explain(run)]
    for receipt in run.receipts():
        when = f"{receipt.at:%Y-%m-%d %H:%M:%S} UTC by {receipt.owner}" if receipt.at else "-"
        lines.append(
            f"  {'✓' if receipt.at else '○'} {receipt.step}  {receipt.guarantee}  {when}  starts: {receipt.starts}"
        )
    lines += [
        f"  ✗ {entry['at']}  {entry['step']}  attempt {entry['attempt']}  {entry['type']}: {entry['message']}"
        for entry in run.failures
    ]
    return Answer({**_row(model, run), "receipts": receipts, "failures": run.failures}, lines)


def list_open(models: list[type[Any]]) -> Answer:
    """Return every open run with its sentence, oldest due first, at most a thousand of each kind."""
    rows = [(model, run) for model in models for run in _open(model).order_by("due_at")[:_MOST]]
    lines = [f"{kinds.name_of(model)} {run.key or run.pk}: {explain.explain(run)}" for model, run in rows]
    return Answer([_row(model, run) for model, run in rows], lines or ["No open run."])


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
    return Answer(value, lines or ["No kind of run is installed."])


def _open(model: type[Any]) -> Any:
    return kinds.rows_of(model).open()


def _row(model: type[Any], run: Any) -> dict[str, Any]:
    now = clock.read(connections[run._state.db])
    return {
        "kind": kinds.name_of(model),
        "id": str(run.pk),
        "key": run.key,
        "status": run.status,
        "owner": run.owner,
        "fence": run.fence,
        "attempts": run.attempts,
        "due_at": run.due_at.isoformat() if run.due_at else None,
        "lease_expires_at": run.lease_expires_at.isoformat() if run.lease_expires_at else None,
        "last_error": run.last_error,
        "age_seconds": round((now - run.created_at).total_seconds(), 1),
        "explain": explain.explain(run),
    }
