"""
Filters: lists of runs by where they stand, who holds them, and when they began. Each says which index has what it finds.

Open runs are those with a due time, and one index holds them; the ids' own time makes a day a range of the primary key.
A list in the order of that index begins at once. In any other order the database may walk past millions of settled runs
to the first that fits, wherever those that fit are all old.
"""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import dates, timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable import topics
from durable.acknowledging import was_acknowledged
from durable.standing import WORDS, Standing, bad_endings, is_stuck_sql, status_word, trouble

__all__ = ["BegunFilter", "LeaseFilter", "StandingFilter", "StepFilter", "TopicFilter"]

_OPEN_ONES = ("open", "stuck", "due", "waiting", "running", "lapsed")
_OPEN = Q(due_at__isnull=False)
_REMOTE = Q(lease_expires_at__isnull=True, owner="")
_LAPSED = Q(lease_expires_at__isnull=True) & ~Q(owner="") | Q(lease_expires_at__lte=Now())


class StandingFilter(admin.SimpleListFilter):
    """By where runs stand, in the words of the list."""

    title = gettext_lazy("state")
    parameter_name = "state"

    @property
    def order(self) -> tuple[str, ...]:
        """The order of the index that has what was chosen; empty where none has."""
        if self.value() in _OPEN_ONES:
            return self.due_order
        return ("-settled_at",) if self.value() in ("trouble", *self.bad) else ()

    def __init__(self, request: HttpRequest, params: Any, model: type[Any], model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.due_order: tuple[str, ...] = model.DUE_ORDER
        self.bad = bad_endings(model.MACHINE)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the words, open ones first."""
        machine = model_admin.model.MACHINE
        statuses = [field for field in _statuses(model_admin.model) if field not in (*machine.open, machine.done)]
        return [
            ("open", _("All open")),
            ("stuck", _("Stuck")),
            ("trouble", _("Given up, and nobody has looked")),
            *((name, WORDS[Standing(name)]) for name in ("due", "waiting", "running", "lapsed")),
            *((status, status_word(machine, status)) for status in statuses),
            (machine.done, status_word(machine, machine.done)),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the runs that stand so."""
        machine, value = queryset.model.MACHINE, self.value()
        if not value:
            return queryset
        if value == "trouble":
            return queryset.filter(trouble(machine)).exclude(was_acknowledged(queryset.model, queryset.db))
        conditions = {
            "open": _OPEN,
            "stuck": is_stuck_sql(machine),
            "due": _OPEN & Q(status=machine.waiting, due_at__lte=Now()),
            "waiting": _OPEN & Q(status=machine.waiting, due_at__gt=Now()),
            "running": _OPEN & Q(status=machine.claimed) & (Q(lease_expires_at__gt=Now()) | _REMOTE),
            "lapsed": _OPEN & Q(status=machine.claimed) & _LAPSED,
            # Such a run always has an error, and an index holds the settled runs that have one.
            **{status: Q(status=status, due_at__isnull=True) & ~Q(last_error="") for status in self.bad},
        }
        return queryset.filter(conditions.get(value, Q(status=value)))


class _OfOpen(admin.SimpleListFilter):
    """What only open runs can be."""

    def __init__(self, request: HttpRequest, params: Any, model: type[Any], model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.order: tuple[str, ...] = model.DUE_ORDER if self.value() else ()


class LeaseFilter(_OfOpen):
    """By whether somebody holds them."""

    title = gettext_lazy("lease")
    parameter_name = "lease"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the three."""
        return [("free", _("Free")), ("held", _("Held")), ("lapsed", _("Lapsed"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the open runs with such a lease."""
        conditions = {
            "free": Q(lease_expires_at__isnull=True),
            "held": Q(lease_expires_at__gt=Now()),
            "lapsed": Q(lease_expires_at__lte=Now()),
        }
        value = self.value()
        return queryset.filter(_OPEN, conditions[value]) if value in conditions else queryset


class StepFilter(_OfOpen):
    """By the step that open runs are at. For shapes whose steps are columns."""

    title = gettext_lazy("step")
    parameter_name = "step"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the steps in their order."""
        steps: dict[str, Any] = getattr(model_admin.model, "steps", dict)()
        return [(name, name) for name in steps]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the open runs whose first step without a receipt it is."""
        steps: dict[str, Any] = getattr(queryset.model, "steps", dict)()
        if self.value() not in steps:
            return queryset
        condition = _OPEN
        for name, step in steps.items():
            condition &= Q(**{f"{step.column}__isnull": name == self.value()})
            if name == self.value():
                break
        return queryset.filter(condition)


class BegunFilter(admin.SimpleListFilter):
    """
    A hierarchy of dates, year, month, day, of the time a run began: a range of the primary key.

    Django's own would read the whole table for the dates that occur in it.
    """

    title = gettext_lazy("date begun")
    parameter_name = "begun"
    template = "admin/durable/dates.html"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return one, so that the filter is shown; what is shown are the choices."""
        return [("today", _("Today"))]

    def choices(self, changelist: Any) -> Any:
        """Offer the way back, and the parts of what is chosen."""
        value = self.value() or ""
        parts = [part for part in value.split("-") if part.isdecimal()]
        today = timezone.localdate()
        yield self._choice(changelist, "", _("Any date"))
        for depth in range(1, len(parts)):
            chosen = "-".join(parts[:depth])
            yield self._choice(changelist, chosen, _said(parts[:depth]))
        if value and _range(value):
            yield self._choice(changelist, value, _said(parts))
        if not parts:
            yield self._choice(changelist, today.isoformat(), _("Today"))
            yield self._choice(changelist, (today - dt.timedelta(days=1)).isoformat(), _("Yesterday"))
            first = changelist.root_queryset.order_by("pk").values_list("pk", flat=True).first()
            oldest = _time_of(first).year if first else today.year
            for year in range(today.year, max(oldest, today.year - 9) - 1, -1):
                yield self._choice(changelist, str(year), str(year))
        elif len(parts) == 1:
            for month in range(1, 13):
                yield self._choice(changelist, f"{parts[0]}-{month:02d}", str(dates.MONTHS[month]))
        elif len(parts) == 2 and _range(value):
            start, end = _range(value) or (today, today)
            for day in range((end - start).days):
                date = start + dt.timedelta(days=day)
                yield self._choice(changelist, date.isoformat(), str(date.day))

    def _choice(self, changelist: Any, value: str, display: str) -> dict[str, Any]:
        query = {self.parameter_name: value} if value else {}
        remove = None if value else [self.parameter_name]
        return {
            "selected": (self.value() or "") == value,
            "query_string": changelist.get_query_string(query, remove),
            "display": display,
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the runs begun then."""
        found = _range(self.value() or "")
        if found is None:
            return queryset
        zone = timezone.get_current_timezone()
        start, end = (dt.datetime.combine(date, dt.time.min, tzinfo=zone) for date in found)
        return queryset.filter(pk__gte=_first_id(start), pk__lt=_first_id(end))


class TopicFilter(admin.SimpleListFilter):
    """Topics as this code knows them: asking the table would read all of it."""

    title = gettext_lazy("topic")
    parameter_name = "topic"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the topics with a handler."""
        return [(handler.topic, handler.topic) for handler in topics.known()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the messages of that topic."""
        return queryset.filter(topic=self.value()) if self.value() else queryset


def _statuses(model: type[Any]) -> list[str]:
    machine = model.MACHINE
    others = {status for arrow in machine.arrows for status in arrow} | machine.terminal
    return [machine.dead, *sorted(others - {machine.dead})]


def _said(parts: list[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    month = str(dates.MONTHS.get(int(parts[1]), parts[1]))
    return f"{month} {parts[0]}" if len(parts) == 2 else f"{int(parts[2])} {month} {parts[0]}"


def _range(value: str) -> tuple[dt.date, dt.date] | None:
    """Return the first day of what is named, and the first after it."""
    try:
        parts = [int(part) for part in value.split("-")]
        if len(parts) == 1:
            return dt.date(parts[0], 1, 1), dt.date(parts[0] + 1, 1, 1)
        if len(parts) == 2:
            start = dt.date(parts[0], parts[1], 1)
            return start, (start + dt.timedelta(days=32)).replace(day=1)
        start = dt.date(*parts)
        return start, start + dt.timedelta(days=1)
    except (ValueError, OverflowError, TypeError):
        return None


def _first_id(at: dt.datetime) -> uuid.UUID:
    milliseconds = min(max(0, round(at.timestamp() * 1000)), 2**48 - 1)
    return uuid.UUID(int=milliseconds << 80)


def _time_of(pk: uuid.UUID) -> dt.datetime:
    milliseconds = min(pk.int >> 80, 253_402_300_799_000)
    return dt.datetime.fromtimestamp(milliseconds / 1000, tz=timezone.get_current_timezone())
