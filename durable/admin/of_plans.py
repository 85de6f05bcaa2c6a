"""The admin of plans: each step as its approver reads it, what came of it, and who decided what."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable.redacting import redacted, without_secrets

from .filters import BegunFilter, StandingFilter
from .page import Made, Panel
from .runs import RunAdmin

__all__ = ["PlanAdmin"]

_PERMISSION = "durable.approve_plan"
_LONGEST = 2_000


class PlanAdmin(RunAdmin):
    """Plans. Nothing of them is edited; they are approved or rejected as they stand."""

    list_display: Any = ("name", "state", "progress", "risk", "proposer", "decided", "age")
    list_filter: ClassVar[Any] = (StandingFilter, "risk", BegunFilter)
    list_fields: ClassVar[tuple[str, ...]] = ("title", "steps")
    actions: Any = ()

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return plans with the receipts that tell how far they came."""
        return super().get_queryset(request).prefetch_related("log", "decisions")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the plan as it is now: one that nobody will move any more is settled by whoever looks."""
        plan = super().get_object(request, object_id, from_field)
        if plan is not None:
            plan.heal()
        return plan

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Who may decide may look."""
        return super().has_view_permission(request, obj) or request.user.has_perm(_PERMISSION)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Who may decide finds it in the admin."""
        return super().has_module_permission(request) or request.user.has_perm(_PERMISSION)

    @admin.display(description=gettext_lazy("plan"))
    def name(self, run: Any) -> str:
        """Return what it is called."""
        return run.title or run.key or str(run.pk)

    @admin.display(description=gettext_lazy("decided by"))
    def decided(self, run: Any) -> str:
        """Return who decided last."""
        made = [one for one in run.decisions.all() if one.verb != "proposed"]
        return str(max(made, key=lambda one: one.pk)) if made else "–"

    def decisions_made(self, run: Any) -> list[Made]:
        """Return the plan's own record, which outlives accounts."""
        return [
            Made(at=one.at, by=one.by, said=f"{one.word}{': ' if one.reason else ''}{one.reason}")
            for one in run.decisions.order_by("-pk")
        ]

    def panels(self, request: HttpRequest, run: Any) -> list[Panel]:
        """Add what is asked for, step by step; open while it waits for a decision."""
        return [
            Panel(
                name="steps",
                title=_("What is asked for"),
                body=_steps(run),
                is_open=run.status not in run.MACHINE.terminal,
            ),
            *super().panels(request, run),
        ]

    def field_names(self) -> tuple[list[str], list[str]]:
        """Return all but the steps, which have a panel of their own."""
        own, contract = super().field_names()
        return own, [name for name in contract if name != "steps"]


#: What a step's author said of its risk, in words.
RISKS = {
    "low": gettext_lazy("low risk"),
    "medium": gettext_lazy("medium risk"),
    "high": gettext_lazy("high risk"),
}


def _told(step: Any, receipt: Any) -> tuple[str, str]:
    """Return what a step is called with, and what came of it, as JSON or in words."""
    args = json.dumps(without_secrets(step.get("args")), ensure_ascii=False)
    output = "" if receipt.output is None else json.dumps(without_secrets(receipt.output), ensure_ascii=False)
    return args[:_LONGEST], redacted(receipt.error) or output[:_LONGEST] or "–"


def _steps(plan: Any) -> SafeString:
    rows = [
        (step, receipt, RISKS.get(step["risk"], step["risk"]), *_told(step, receipt))
        for step, receipt in zip(plan.steps, plan.step_receipts(), strict=True)
    ]
    return SafeString(render_to_string("admin/durable/_steps.html", {"rows": rows, "plan": plan}))
