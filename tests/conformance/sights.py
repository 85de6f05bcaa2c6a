"""
Sights: one committed state of a run, as another session sees it: its row, its traces, the calls made for it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import connection

from durable.clock import now_sql

from .far_side import FAR_SIDE, Call
from .models import Trace
from .subjects import Subject

__all__ = ["Seen", "Sight", "look"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is recorded of one step."""

    at: Any  # None: no receipt
    fence: int | None  # the claim that left it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One committed state."""

    row: dict[str, Any]  # every column, exactly
    lease: str  # none, held, lapsed: by the database's clock
    due: str  # never, now, later
    receipts: dict[str, Seen]
    traces: tuple[str, ...]
    calls: tuple[Call, ...]

    @property
    def status(self) -> str:
        return str(self.row["status"])

    @property
    def fence(self) -> int:
        return int(self.row["fence"])

    def state(self) -> Any:
        """Return the same without its times and its id: equal for two runs to which the same happened."""
        plain = {
            name: _timeless(value)
            for name, value in sorted(self.row.items())
            if name not in ("id", "key", "digest", "updated_at", "created_at", "due_at", "lease_expires_at")
        }
        calls = tuple((call.step, call.fence) for call in self.calls)
        receipts = sorted((step, seen.at is not None, seen.fence) for step, seen in self.receipts.items())
        return json.dumps([plain, self.lease, self.due, self.traces, calls, receipts], default=str)


def look(subject: Subject, pk: Any) -> Sight | None:
    """Return what another session sees of that run now; None when it is not there."""
    model: Any = subject.model
    table, now = model._meta.db_table, now_sql(connection.vendor)
    rows = model._base_manager.raw(
        f"SELECT run.*, lease_expires_at > {now} AS is_held, due_at <= {now} AS is_due,"
        f" ARRAY(SELECT step FROM {Trace._meta.db_table} WHERE run = run.id ORDER BY step) AS traces"
        f" FROM {table} run WHERE id = %s",
        [pk],
    )
    for run in rows:
        return Sight(
            row={field.attname: getattr(run, field.attname) for field in model._meta.concrete_fields},
            lease="none" if run.is_held is None else "held" if run.is_held else "lapsed",
            due="never" if run.is_due is None else "now" if run.is_due else "later",
            receipts=_receipts(subject, run),
            traces=tuple(run.traces),
            calls=FAR_SIDE.calls(pk),
        )
    return None


def _receipts(subject: Subject, run: Any) -> dict[str, Seen]:
    """Return what is recorded of every step the kind ever had, whatever code is deployed now."""
    with subject.deployed(subject.every):
        return {receipt.step: Seen(at=receipt.at, fence=receipt.fence) for receipt in run.receipts()}


def _timeless(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return "a time"
    if isinstance(value, dict):
        return {name: _timeless(inner) for name, inner in value.items() if name not in ("at", "took", "first", "last")}
    if isinstance(value, list):
        return [_timeless(inner) for inner in value]
    return value
