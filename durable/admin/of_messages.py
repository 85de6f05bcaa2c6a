"""The admin of messages: the records of their attempts, and what they say, folded away."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.translation import gettext as _

from durable.redacting import redacted, without_secrets

from .filters import BegunFilter, LeaseFilter, StandingFilter, TopicFilter
from .page import Panel
from .runs import RunAdmin

__all__ = ["MessageAdmin"]

_ATTEMPTS = 50
_LONGEST = 20_000


class MessageAdmin(RunAdmin):
    """Messages of the outbox. Staff may retry what is dead or failed; what is being sent is left alone."""

    list_display: Any = ("name", "topic", "state", "held_by_or_next", "age")
    list_filter: ClassVar[Any] = (StandingFilter, LeaseFilter, TopicFilter, BegunFilter)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return messages without what they say: it may be megabytes each (C82)."""
        return super().get_queryset(request).defer("arguments", "payload")

    def panels(self, request: HttpRequest, run: Any) -> list[Panel]:
        """Add the attempts and the payload."""
        entries = list(run.log.order_by("-pk")[:_ATTEMPTS])
        for entry in entries:
            entry.error = redacted(entry.error[:500])
        attempts = render_to_string("admin/durable/_attempts.html", {"entries": entries})
        text = json.dumps(without_secrets(run.payload), indent=2, ensure_ascii=False)
        payload = format_html("<pre>{}{}</pre>", text[:_LONGEST], " …" if len(text) > _LONGEST else "")
        return [
            Panel(
                name="attempts", title=_("Attempts (%(count)s)") % {"count": len(entries)}, body=attempts, is_open=True
            ),
            Panel(name="payload", title=_("Payload"), body=payload),
            *super().panels(request, run),
        ]

    def field_names(self) -> tuple[list[str], list[str]]:
        """Return all but the payload, which has a panel of its own."""
        own, contract = super().field_names()
        return own, [name for name in contract if name != "payload"]
