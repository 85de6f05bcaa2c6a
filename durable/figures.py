"""
Figures: how each kind of run stands, in a bounded number of bounded questions. They change nothing.

Nothing here reads a table. Open runs stand in the index of due times, and the first ten thousand of them are looked at;
runs that were given up stand in an index of settled runs with an error; what was settled lately is read off the index of
settlements, a hundred thousand entries at the most. So the figures cost the same with ten million settled runs as
with ten. Where a bound was met, the figure says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connections
from django.db.models import Count, Max, Min, Q, QuerySet
from django.db.models.functions import Now

from . import clock, kinds
from .acknowledging import was_acknowledged
from .clock import InSeconds
from .standing import is_stuck_sql, trouble

__all__ = ["DAY", "MOST", "Figures", "Holding", "of_kind"]

MOST = 10_000  # open runs looked at, those due first
DAY = 24 * 60  # minutes
_SETTLED = 100_000  # settlements looked at, the newest
_HELD = 200  # held runs listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One run that somebody holds."""

    owner: str
    model: type[Any]
    pk: Any
    key: str | None
    lease_expires_at: datetime
    updated_at: datetime


@dataclass(slots=True, kw_only=True)
class Figures:
    """How one kind stands."""

    model: type[Any]
    now: datetime
    open: int = 0
    due: int = 0
    waiting: int = 0
    running: int = 0
    lapsed: int = 0
    stuck: int = 0
    foreign: int = 0  # open, with steps that this code does not know
    undecided: int = 0  # open, and no worker may take it until a person decides
    dead: int = 0
    dead_newest: datetime | None = None  # of those that nobody has looked at
    unseen: int = 0  # of the dead: nobody has looked at them and left them so
    oldest_due: datetime | None = None
    is_capped: bool = False  # there are more open ones than were looked at
    held: list[Holding] = field(default_factory=list)
    settled: list[int] = field(default_factory=lambda: [0] * DAY)  # per minute; the last is the current one
    failed: list[int] = field(default_factory=lambda: [0] * DAY)
    counted_minutes: int = DAY  # how far back the counts of settlements are complete
    last_settled: datetime | None = None

    @property
    def name(self) -> str:
        """The kind's name."""
        return kinds.name_of(self.model)

    def as_json(self) -> dict[str, Any]:
        """Return the stable form for programs: keys are only ever added."""
        return {
            "kind": self.name,
            "open": self.open,
            "due": self.due,
            "waiting": self.waiting,
            "running": self.running,
            "lapsed": self.lapsed,
            "stuck": self.stuck,
            "needs_decision": self.undecided,
            "dead": self.dead,
            "unseen": self.unseen,
            "oldest_due": self.oldest_due.isoformat() if self.oldest_due else None,
            "settled_last_hour": sum(self.settled[-60:]),
            "failed_last_hour": sum(self.failed[-60:]),
            "at_least": self.is_capped,
        }


def of_kind(model: type[Any]) -> Figures:
    """Return the figures of one kind. Eight statements at the most, however large the table."""
    using, machine = kinds.alias_of(model), model.MACHINE
    rows = kinds.rows_of(model).order_by()
    found = Figures(model=model, now=clock.read(connections[using]))
    window = rows.filter(due_at__isnull=False).order_by(*model.DUE_ORDER)[:MOST]
    _look_at_open(found, window, machine)
    if found.running or found.lapsed:
        _look_at_held(found, rows, window, machine)
    _look_at_trouble(found, rows, machine)
    _look_at_settled(found, rows, using)
    others = {status for arrow in machine.arrows for status in arrow} - {*machine.open} - machine.terminal
    if others:
        found.undecided = rows.filter(status__in=others)[:MOST].count()
    return found


def _look_at_open(found: Figures, window: QuerySet[Any], machine: Any) -> None:
    remote = Q(lease_expires_at__isnull=True, owner="")
    lapsed = Q(lease_expires_at__isnull=True) & ~Q(owner="") | Q(lease_expires_at__lte=Now())
    waits, held = Q(status=machine.waiting), Q(status=machine.claimed)
    foreign = Q()
    for name, value in found.model.can_carry_out():
        foreign |= ~Q(**{name: value})
    counts = window.aggregate(
        open=Count("pk"),
        due=Count("pk", filter=waits & Q(due_at__lte=Now())),
        waiting=Count("pk", filter=waits & Q(due_at__gt=Now())),
        running=Count("pk", filter=held & (Q(lease_expires_at__gt=Now()) | remote)),
        lapsed=Count("pk", filter=held & lapsed),
        stuck=Count("pk", filter=is_stuck_sql(machine)),
        foreign=Count("pk", filter=foreign) if foreign else Count("pk", filter=Q(pk__isnull=True)),
        oldest_due=Min("due_at", filter=waits & Q(due_at__lte=Now())),
    )
    for name, value in counts.items():
        setattr(found, name, value)
    found.is_capped = found.open >= MOST


def _look_at_held(found: Figures, rows: QuerySet[Any], window: QuerySet[Any], machine: Any) -> None:
    held = rows.filter(pk__in=window.values("pk"), status=machine.claimed, lease_expires_at__isnull=False)
    found.held = [
        Holding(owner=owner, model=found.model, pk=pk, key=key, lease_expires_at=lease, updated_at=at)
        for owner, pk, key, lease, at in held.values_list("owner", "pk", "key", "lease_expires_at", "updated_at")[
            :_HELD
        ]
    ]


def _look_at_trouble(found: Figures, rows: QuerySet[Any], machine: Any) -> None:
    dead = rows.filter(trouble(machine), settled_at__isnull=False).order_by("-settled_at")
    found.dead = dead[:MOST].count()
    if found.dead:
        unseen = dead.exclude(was_acknowledged(found.model, rows.db))[:MOST]
        counts = unseen.aggregate(unseen=Count("pk"), newest=Max("settled_at"))
        found.unseen, found.dead_newest = counts["unseen"], counts["newest"]
        lately = dead.filter(settled_at__gt=InSeconds(-DAY * 60))
        found.failed, _ = _per_minute(lately, rows.db)


def _look_at_settled(found: Figures, rows: QuerySet[Any], using: str) -> None:
    lately = rows.filter(settled_at__gt=InSeconds(-DAY * 60)).order_by("-settled_at")
    found.settled, found.counted_minutes = _per_minute(lately, using)
    found.last_settled = (
        rows.filter(settled_at__isnull=False).order_by("-settled_at").values_list("settled_at", flat=True).first()
    )


def _per_minute(newest_first: QuerySet[Any], using: str) -> tuple[list[int], int]:
    """Return counts per minute of the last day, the current minute last, and how many of them are complete."""
    connection = connections[using]
    sql, params = newest_first.values("settled_at")[:_SETTLED].query.get_compiler(using=using).as_sql()
    if connection.vendor == "postgresql":
        age = "floor(extract(epoch FROM (statement_timestamp() - settled_at)) / 60)::integer"
    else:
        age = "CAST((julianday('now') - julianday(settled_at)) * 1440 AS INTEGER)"
    with connection.cursor() as cursor:
        # The inner statement is the ORM's own; the outer one names no value.
        cursor.execute(f"SELECT {age} AS age, count(*) FROM ({sql}) newest GROUP BY 1", params)  # noqa: S608
        found = cursor.fetchall()
    counts = [0] * DAY
    for minutes, number in found:
        counts[DAY - 1 - min(max(int(minutes), 0), DAY - 1)] += number
    if sum(counts) < _SETTLED:
        return counts, DAY
    oldest = max(int(minutes) for minutes, _ in found)
    return counts, max(1, oldest)
