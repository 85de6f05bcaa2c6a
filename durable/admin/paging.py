"""
Paging: a list of runs that costs the same with a thousand rows and with ten million.

Rows come in the order of the primary key, newest first, which the ids' own time makes the order of their beginning; what
an index of its own has comes in the order of that. A filter that no index serves looks through the newest runs, or
those of a date, and the page says so. No count reads more rows than anybody pages through; how many there are in all is
the database's own estimate. A row is read without what no column shows, and of an error only its beginning.
"""

from __future__ import annotations

import functools
from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db import connections
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest

from durable import clock

from .filters import BegunFilter

__all__ = ["FOUND", "LOOKED_THROUGH", "MOST", "RunList", "RunPaginator", "estimate"]

MOST = 10_000  # rows that can be paged through; a filter, a date or a search brings others to the front
LOOKED_THROUGH = 100_000  # rows that a filter without an index looks through
FOUND = 1_000  # runs that a search finds
_ERROR_BEGINS = 200

#: What a row of the list needs of the contract's columns.
_NEEDED = ("id", "status", "fence", "lease_expires_at", "owner", "due_at", "attempts", "losses", "key", "created_at",
           "settled_at")  # fmt: skip


class RunPaginator(Paginator):  # type: ignore[type-arg]
    """A paginator that counts no more rows than anybody will page through."""

    @functools.cached_property
    def count(self) -> int:
        rows: Any = self.object_list  # in its order: without one the database may choose to read the table
        return min(int(rows[: MOST + 1].count()), MOST)


class RunList(ChangeList):
    """The list of one kind."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        known = {field.name for field in self.model._meta.concrete_fields}
        declared = getattr(self.model, "steps", None)  # of a job its steps; a plan has a column of that name
        steps = [step.column for step in declared().values()] if callable(declared) else []
        shown = [name for name in (*self.list_display, *getattr(self.model_admin, "list_fields", ())) if name in known]
        wanted = {*(name for name in _NEEDED if name in known), *steps, *shown} - {"last_error"}
        self.looked_through = LOOKED_THROUGH if self._no_index_serves() else 0
        if self.looked_through:
            rows = self._newest(request, rows)
        slim: QuerySet[Any] = rows.only(*sorted(wanted)).annotate(error_begins=Left("last_error", _ERROR_BEGINS))
        return slim

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        for spec in self.filter_specs:
            order: tuple[str, ...] = getattr(spec, "order", ())
            if order:
                return [*order, "-pk"]
        return super().get_ordering(request, queryset)

    def _no_index_serves(self) -> bool:
        chosen = [spec for spec in self.filter_specs if spec.used_parameters and not isinstance(spec, BegunFilter)]
        return bool(chosen) and not self.query and not any(getattr(spec, "order", ()) for spec in chosen)

    def _newest(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return those of the rows that are among the newest, or the newest of the date chosen."""
        every: Any = self.root_queryset
        for spec in self.filter_specs:
            if isinstance(spec, BegunFilter):
                every = spec.queryset(request, every)
        pks = every.order_by("-pk").values_list("pk", flat=True)
        # A value, asked for first: of one worked out inside the statement the database estimates nothing.
        first = pks[LOOKED_THROUGH : LOOKED_THROUGH + 1].first()
        if first is None:
            self.looked_through = 0
            return rows
        return rows.filter(pk__gt=first)

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        alias = self.result_list.db if isinstance(self.result_list, QuerySet) else "default"
        now = clock.read(connections[alias])
        self.result_list = list(self.result_list)
        for run in self.result_list:
            # The beginning is what the list knows of the error; asked for more, it would read each row again.
            run.__dict__["last_error"] = run.error_begins
            run.read_at = now
        self.found_at_most = FOUND
        self.in_all = estimate(self.model, alias) if self.result_count >= MOST else None


def estimate(model: type[Any], alias: str) -> int | None:
    """Return how many rows the database believes that table has; None where it does not say."""
    connection = connections[alias]
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass", [_quoted(model, connection)])
        found = cursor.fetchone()
    return int(found[0]) if found and found[0] > MOST else None


def _quoted(model: type[Any], connection: Any) -> str:
    return str(connection.ops.quote_name(model._meta.db_table))
