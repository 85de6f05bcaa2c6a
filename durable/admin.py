"""
The admin of runs: what happened, who owns it now, and what may be pressed.

    admin.site.register(AccountDeletion, RunAdmin)
"""

from __future__ import annotations

import functools
import json
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from . import topics
from .explain import explain
from .models import Message, Operation, Pass

__all__ = ["MessageAdmin", "RunAdmin"]


class _CountedOnce(Paginator):  # type: ignore[type-arg]
    """A paginator that counts no more rows than anybody will page through."""

    @functools.cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return min(len(rows[:10_000].values_list("pk")), 10_000)


class RunAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Runs, for reading; and the few lawful things a person may do to them."""

    list_display = ("name", "state", "progress", "attempts", "due_at", "owner_label", "error", "created_at")
    list_filter: ClassVar[Any] = ("status",)
    search_fields = ("key__exact", "id__exact")
    ordering = ("-created_at",)
    show_full_result_count = False
    paginator = _CountedOnce
    actions: tuple[str, ...] = ("retry_selected", "cancel_selected")
    readonly_summary: tuple[str, ...] = ("sentence", "receipts_table", "failures_table")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("arguments")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [*self.readonly_summary, *(field.name for field in self.model._meta.concrete_fields)]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        own = [f.name for f in self.model._meta.concrete_fields if f.name not in self.model.contract_columns()]
        raw = [f.name for f in self.model._meta.concrete_fields if f.name in self.model.contract_columns()]
        return [
            (None, {"fields": self.readonly_summary}),
            (_("Fields"), {"fields": own, "classes": ("collapse",)}),
            (_("Contract"), {"fields": raw, "classes": ("collapse",)}),
        ]

    # Columns -----------------------------------------------------------------------------------------------------

    @admin.display(description=_("run"))
    def name(self, run: Any) -> str:
        return run.key or str(run.pk)

    @admin.display(description=_("state"), ordering="status")
    def state(self, run: Any) -> str:
        return str(run.status)

    @admin.display(description=_("progress"))
    def progress(self, run: Any) -> str:
        receipts = run.receipts()
        recorded = sum(receipt.at is not None for receipt in receipts)
        return str(_("%(done)s of %(all)s") % {"done": recorded, "all": len(receipts)})

    @admin.display(description=_("held by"))
    def owner_label(self, run: Any) -> str:
        return str(run.owner).partition(" ")[0]

    @admin.display(description=_("last error"))
    def error(self, run: Any) -> str:
        return str(run.last_error).partition("\n")[0][:120]

    # The page of one run -----------------------------------------------------------------------------------------

    @admin.display(description=_("In a sentence"))
    def sentence(self, run: Any) -> str:
        return explain(run)

    @admin.display(description=_("Receipts"))
    def receipts_table(self, run: Any) -> SafeString:
        rows = (
            (
                "✓" if receipt.at else "○",
                receipt.step,
                receipt.guarantee,
                f"{receipt.at:%Y-%m-%d %H:%M:%S} UTC" if receipt.at else "–",
                _took(receipt),
                receipt.starts,
                receipt.owner,
            )
            for receipt in run.receipts()
        )
        titles = ("", _("step"), _("guarantee"), _("when"), _("took"), _("starts"), _("by"))
        return format_html(
            "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>",
            format_html_join("", "<th>{}</th>", ((title,) for title in titles)),
            format_html_join("", "<tr>" + "<td>{}</td>" * len(titles) + "</tr>", rows),
        )

    @admin.display(description=_("Failures"))
    def failures_table(self, run: Any) -> SafeString | str:
        if not run.failures:
            return str(_("None."))
        names = ("at", "attempt", "step", "type", "message", "owner")
        return format_html(
            "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>",
            format_html_join("", "<th>{}</th>", ((name,) for name in names)),
            format_html_join(
                "",
                "<tr>" + "<td>{}</td>" * len(names) + "</tr>",
                (tuple(entry.get(name, "") for name in names) for entry in run.failures),
            ),
        )

    # Actions -----------------------------------------------------------------------------------------------------

    @admin.action(description=_("Retry selected runs now"), permissions=["change"])
    def retry_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._do_each(request, queryset, "retry", _("retried"))

    @admin.action(description=_("Cancel selected runs"), permissions=["change"])
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._do_each(request, queryset, "cancel", _("canceled"))

    def _do_each(self, request: HttpRequest, queryset: QuerySet[Any], verb: str, done: Any) -> None:
        moved, left = 0, []
        for run in queryset:
            if getattr(run, verb)():
                moved += 1
                self.log_change(request, run, f"{verb}: now {run.status}")
            else:
                left.append(f"{self.name(run)} ({run.status})")
        text = ngettext("%(moved)s run %(done)s.", "%(moved)s runs %(done)s.", moved) % {"moved": moved, "done": done}
        self.message_user(request, text, messages.SUCCESS if moved else messages.INFO)
        if left:
            note = _("%(count)s left as they were: %(names)s") % {"count": len(left), "names": ", ".join(left[:20])}
            self.message_user(request, note, messages.WARNING)


def _took(receipt: Any) -> str:
    if receipt.at is None:
        return "–"
    return "< 0.1 s" if receipt.took is None else f"{receipt.took:.1f} s"


class _TopicFilter(admin.SimpleListFilter):
    """Topics as this code knows them: asking the table would read all of it."""

    title = _("topic")
    parameter_name = "topic"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(handler.topic, handler.topic) for handler in topics.known()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(topic=self.value()) if self.value() else queryset


@admin.register(Message)
class MessageAdmin(RunAdmin):
    """Messages of the outbox. Staff may retry what is dead or failed; what waits or is being sent is left alone."""

    list_display = ("name", "topic", "state", "attempts", "due_at", "owner_label", "error", "created_at")
    list_filter: ClassVar[Any] = ("status", _TopicFilter)
    ordering = ("-id",)
    actions = ("retry_selected",)
    readonly_summary = ("sentence", "receipts_table", "attempts_table", "failures_table", "body")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # A list of messages must not read what they say: it may be megabytes each (C82).
        return super().get_queryset(request).defer("arguments", "payload", "failures")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [name for name in super().get_readonly_fields(request, obj) if name not in ("payload", "failures")]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        raw = [f.name for f in self.model._meta.concrete_fields if f.name not in ("payload", "failures")]
        return [
            (None, {"fields": self.readonly_summary}),
            (_("Contract"), {"fields": raw, "classes": ("collapse",)}),
        ]

    @admin.display(description=_("Attempts"))
    def attempts_table(self, message: Any) -> SafeString | str:
        """Each attempt, newest first: one without an outcome may have gone out all the same."""
        entries = list(message.log.order_by("-pk")[:50])
        if not entries:
            return str(_("None."))
        titles = (
            _("attempt"),
            _("started"),
            _("ended"),
            _("outcome"),
            _("code"),
            _("provider id"),
            _("error"),
            _("by"),
        )
        rows = (
            (
                entry.number, entry.started_at, entry.ended_at or "–",
                entry.outcome or _("no word yet"), entry.code, entry.provider_id, entry.error[:500], entry.by,
            )
            for entry in entries
        )  # fmt: skip
        return format_html(
            "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>",
            format_html_join("", "<th>{}</th>", ((title,) for title in titles)),
            format_html_join("", "<tr>" + "<td>{}</td>" * len(titles) + "</tr>", rows),
        )

    @admin.display(description=_("Payload"))
    def body(self, message: Any) -> SafeString:
        text = json.dumps(message.payload, indent=2, ensure_ascii=False)
        return format_html("<pre>{}{}</pre>", text[:20_000], " …" if len(text) > 20_000 else "")


admin.site.register([Operation, Pass], RunAdmin)
