"""
The admin of plans: what is asked for, what happened, who decided; and the lawful decisions, each behind a confirmation.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from .admin import RunAdmin
from .errors import NotAllowed, NotProposed
from .models import Plan
from .verdicts import BEGUN, INTERRUPTED, OK, PENDING, PERMISSION

__all__ = ["PlanAdmin"]

_MARKS = {OK: "✓", "failed": "✗", "conflict": "✗", BEGUN: "?", "": "○"}
_WORDS = {
    OK: _("done"),
    "failed": _("failed"),
    "conflict": _("changed since review"),
    BEGUN: _("begun; may have happened"),
    "": _("not run"),
}

_RISKS = {"low": _("low risk"), "medium": _("medium risk"), "high": _("high risk")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One button: when it may be pressed, what it says, what it does."""

    label: Any
    may: Callable[[Any], bool]
    tells: Callable[[Any], list[Any]]  # sentences of the confirmation
    does: Callable[[Any, Any, str], Any]  # plan, user, reason → a Ruling, or another plan
    danger: bool = False
    reasoned: bool = False


def _can_be_taken_back(plan: Any) -> bool:
    if plan.settled_at is None:
        return False
    done = plan.log.filter(kind=OK).values_list("position", flat=True)
    return any(plan.steps[position]["undo"] for position in done if position < len(plan.steps))


def _tell_approval(plan: Any) -> list[Any]:
    until = f"{plan.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    return [
        _("These steps run in this order, exactly as they stand here, once. It stops at the first that is not ok."),
        _("A worker begins as soon as one is free; what is not begun by %(until)s expires.") % {"until": until},
    ]


def _tell_resumption(plan: Any) -> list[Any]:
    said: list[Any] = [_("It goes on at its first step without a receipt; what has one is skipped.")]
    for receipt in plan.in_doubt():
        twice = receipt.guarantee == "at-least-once"
        words = {"position": receipt.position + 1, "words": receipt.words}
        if twice:
            said.append(
                _("Step %(position)s (%(words)s) was begun and may have happened: it may happen twice.") % words
            )
        else:
            said.append(_("Step %(position)s (%(words)s) was begun and is called again, under the same key.") % words)
    return said


def _tell_compensation(plan: Any) -> list[Any]:
    said: list[Any] = [
        _("A new plan is proposed that takes back what was done, last step first. It needs its own approval.")
    ]
    kept = [r.words for r in plan.step_receipts() if r.kind == OK and not plan.steps[r.position]["undo"]]
    if kept:
        said.append(_("What cannot be taken back: %(steps)s.") % {"steps": "; ".join(kept)})
    return said


VERBS: dict[str, Verb] = {
    "approve": Verb(
        label=_("Approve"), may=lambda plan: plan.status == PENDING, tells=_tell_approval,
        does=lambda plan, by, reason: plan.approve(by=by),
    ),
    "reject": Verb(
        label=_("Reject"), may=lambda plan: plan.status == PENDING, danger=True, reasoned=True,
        tells=lambda plan: [_("Nothing of it will be done, now or later.")],
        does=lambda plan, by, reason: plan.reject(by=by, reason=reason),
    ),
    "resume": Verb(
        label=_("Resume"), may=lambda plan: plan.cause == INTERRUPTED, tells=_tell_resumption, reasoned=True,
        does=lambda plan, by, reason: plan.resume(by=by, reason=reason),
    ),
    "compensate": Verb(
        label=_("Take back"), may=_can_be_taken_back, tells=_tell_compensation,
        does=lambda plan, by, reason: plan.compensate(by=by),
    ),
}  # fmt: skip


@admin.register(Plan)
class PlanAdmin(RunAdmin):
    """Plans. Nothing of them is edited; what a person may do to one stands above its page, and only that."""

    change_form_template = "admin/durable/plan/change_form.html"
    list_display = ("name", "state", "progress", "risk", "proposer", "decided", "error", "created_at")
    list_filter: ClassVar[Any] = ("status", "cause", "risk")
    search_fields: ClassVar[Any] = ("key__exact", "id__exact", "title")
    ordering = ("-id",)
    actions = ()
    readonly_summary = ("sentence", "steps_table", "decisions_table", "failures_table")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("log", "decisions")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        plan = super().get_object(request, object_id, from_field)
        if plan is not None:
            plan.heal()  # whoever looks at a plan sees what is true of it
        return plan

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) or request.user.has_perm(PERMISSION)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return super().has_module_permission(request) or request.user.has_perm(PERMISSION)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [name for name in super().get_readonly_fields(request, obj) if name not in ("steps", "failures")]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        raw = [f.name for f in self.model._meta.concrete_fields if f.name not in ("steps", "failures")]
        return [
            (None, {"fields": self.readonly_summary}),
            (_("Contract"), {"fields": raw, "classes": ("collapse",)}),
        ]

    # Columns and tables ------------------------------------------------------------------------------------------

    @admin.display(description=_("plan"))
    def name(self, plan: Any) -> str:
        return plan.title or plan.key or str(plan.pk)

    @admin.display(description=_("state"), ordering="status")
    def state(self, plan: Any) -> str:
        return f"{plan.status} ({plan.cause})" if plan.cause else str(plan.status)

    @admin.display(description=_("decided by"))
    def decided(self, plan: Any) -> str:
        made = [decision for decision in plan.decisions.all() if decision.verb != "proposed"]
        return str(max(made, key=lambda decision: decision.pk)) if made else "–"

    @admin.display(description=_("Steps"))
    def steps_table(self, plan: Any) -> SafeString:
        """Each step as the approver reads it, and its receipt."""
        rows = (
            (
                f"{_MARKS[receipt.kind]} {receipt.position + 1}",
                receipt.words,
                _targets(step) or "–",
                _promise(step, receipt),
                _WORDS[receipt.kind],
                _record(receipt) or "–",
                receipt.error or _shown(receipt.output) or "–",
            )
            for step, receipt in zip(plan.steps, plan.step_receipts(), strict=True)
        )
        titles = ("", _("step"), _("changes"), _("promise"), _("result"), _("recorded"), _("output or reason"))
        return _table(titles, rows)

    @admin.display(description=_("Decisions"))
    def decisions_table(self, plan: Any) -> SafeString:
        rows = (
            (one.verb, one.by, f"{one.at:%Y-%m-%d %H:%M:%S} UTC", one.reason or "–", one.digest[:16])
            for one in plan.decisions.order_by("pk")
        )
        return _table((_("decision"), _("by"), _("when"), _("reason"), _("digest")), rows)

    # Buttons -----------------------------------------------------------------------------------------------------

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.decide)
        return [path("<path:object_id>/<slug:verb>/decide/", view, name="durable_plan_decide"), *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        plan = self.get_object(request, object_id)
        lawful = [] if plan is None or not request.user.has_perm(PERMISSION) else _lawful(plan)
        buttons = [
            {"label": VERBS[name].label, "address": self._address(plan, name), "danger": VERBS[name].danger}
            for name in lawful
        ]
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "decisions": buttons})

    def decide(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """Ask, and on a confirmed POST decide. What is not lawful any more is said, not done."""
        plan, wanted = self.get_object(request, object_id), VERBS.get(verb)
        if plan is None or wanted is None:
            raise Http404
        if not request.user.has_perm(PERMISSION):
            raise PermissionDenied
        if request.method == "POST" and request.POST.get("digest") == plan.digest:
            return self._decide(request, plan, verb, wanted)
        if verb not in _lawful(plan):
            self.message_user(request, plan.explain(), messages.WARNING)
            return HttpResponseRedirect(self._page(plan))
        context = {
            **self.admin_site.each_context(request), "opts": self.opts, "plan": plan, "verb": wanted,
            "title": f"{wanted.label}: {self.name(plan)}", "sentences": wanted.tells(plan), "steps": plan.step_receipts(),
            "page": self._page(plan),
        }  # fmt: skip
        return TemplateResponse(request, "admin/durable/plan/confirm.html", context)

    def _decide(self, request: HttpRequest, plan: Any, name: str, verb: Verb) -> HttpResponse:
        page, reason = self._page(plan), request.POST.get("reason", "")[:500]
        try:
            answer = verb.does(plan, request.user, reason)
        except (NotAllowed, NotProposed) as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(page)
        if isinstance(answer, Plan):
            self.log_change(request, plan, f"{name}: proposed as {answer.pk}")
            self.message_user(request, _("Proposed. It waits for a decision of its own."), messages.SUCCESS)
            return HttpResponseRedirect(self._page(answer))
        if answer:
            self.log_change(request, plan, f"{name}: now {plan.status}" + (f" ({reason})" if reason else ""))
        self.message_user(request, answer.sentence, messages.SUCCESS if answer else messages.WARNING)
        return HttpResponseRedirect(page)

    def _page(self, plan: Any) -> str:
        return reverse(f"{self.admin_site.name}:durable_plan_change", args=[plan.pk])

    def _address(self, plan: Any, verb: str) -> str:
        return reverse(f"{self.admin_site.name}:durable_plan_decide", args=[plan.pk, verb])


def _lawful(plan: Any) -> list[str]:
    return [name for name, verb in VERBS.items() if verb.may(plan)]


def _targets(step: dict[str, Any]) -> str:
    return "; ".join(
        f"{one['label'] or one['kind'] + ' ' + one['id']} (version {one['version']})" for one in step["targets"]
    )


def _promise(step: dict[str, Any], receipt: Any) -> str:
    undo = _("can be taken back") if step["undo"] else _("cannot be taken back")
    return f"{receipt.guarantee}; {_RISKS[step['risk']]}; {undo}"


def _record(receipt: Any) -> str:
    said = [f"{receipt.recorded_at:%H:%M:%S} UTC"] if receipt.recorded_at else []
    if receipt.took is not None:
        said.append(f"{receipt.took:.1f} s")
    if receipt.starts > 1:
        said.append(str(_("%(starts)s starts ⚠") % {"starts": receipt.starts}))
    return ", ".join([*said, receipt.owner] if receipt.owner else said)


def _shown(output: Any) -> str:
    text = "" if output is None else json.dumps(output, ensure_ascii=False)
    return text[:300] + (" …" if len(text) > 300 else "")


def _table(titles: Any, rows: Any) -> SafeString:
    return format_html(
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>",
        format_html_join("", "<th>{}</th>", ((title,) for title in titles)),
        format_html_join("", "<tr>" + "<td>{}</td>" * len(titles) + "</tr>", rows),
    )
