"""The admin of operations of somebody else, and of passes: what the far side showed, and what the last pass counted."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable.redacting import without_secrets
from durable.syncing import counted

from .filters import BegunFilter, LeaseFilter, StandingFilter
from .page import Made, Panel
from .runs import RunAdmin

__all__ = ["OperationAdmin", "PassAdmin"]


class OperationAdmin(RunAdmin):
    """Operations that somebody else carries out. Where nobody can say how one ended, a person does."""

    list_display: Any = ("name", "kind", "state", "far_status", "held_by_or_next", "age")
    list_filter: ClassVar[Any] = (StandingFilter, LeaseFilter, BegunFilter)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return operations without what was sent and answered."""
        return super().get_queryset(request).defer("arguments", "payload", "result")

    def decisions_made(self, run: Any) -> list[Made]:
        """Return the operation's own record: it holds what programs decided, too."""
        made = [
            Made(
                at=parse_datetime(str(one.get("at", ""))) or run.updated_at, by=str(one.get("by", "")), said=_what(one)
            )
            for one in run.decisions
        ]
        return sorted([*made, *super().decisions_made(run)], key=lambda one: one.at, reverse=True)

    def panels(self, request: HttpRequest, run: Any) -> list[Panel]:
        """Add what was sent, and what was answered."""
        return [
            Panel(name="payload", title=_("What was asked for"), body=_as_json(run.payload)),
            Panel(name="result", title=_("Result"), body=_as_json(run.result), is_open=run.result is not None),
            *super().panels(request, run),
        ]

    def field_names(self) -> tuple[list[str], list[str]]:
        """Return all but what has a panel of its own."""
        own, contract = super().field_names()
        return own, [name for name in contract if name not in ("payload", "result", "seen", "decisions")]


class PassAdmin(RunAdmin):
    """Passes over rows. One row each, made again and again."""

    list_display: Any = ("name", "state", "counted", "held_by_or_next", "tries")
    list_fields: ClassVar[tuple[str, ...]] = ("summary", "summary_at", "tally")
    list_filter: ClassVar[Any] = (StandingFilter,)

    @admin.display(description=gettext_lazy("the last pass"))
    def counted(self, run: Any) -> str:
        """Return what the last pass counted."""
        return counted(run.summary) if run.summary else "–"

    def panels(self, request: HttpRequest, run: Any) -> list[Panel]:
        """Add what this pass has counted, and the last that came to its end."""
        return [
            Panel(name="summary", title=_("The last pass"), body=_as_json(run.summary), is_open=bool(run.summary)),
            Panel(name="tally", title=_("This pass so far"), body=_as_json(run.tally), is_open=run.settled_at is None),
            *super().panels(request, run),
        ]


def _what(entry: dict[str, Any]) -> str:
    return str(entry.get("what") or entry.get("said") or entry.get("decision") or "")


def _as_json(value: Any) -> Any:
    text = json.dumps(without_secrets(value), indent=2, ensure_ascii=False)
    return format_html("<pre>{}{}</pre>", text[:20_000], " …" if len(text) > 20_000 else "")
