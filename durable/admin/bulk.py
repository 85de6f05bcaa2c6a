"""Decisions about many runs at once: each by itself, conditional; and what was left alone is said, with the reason."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.contrib import admin, messages
from django.db import connections
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from durable import clock
from durable.errors import DurableError
from durable.explain import now_of
from durable.redacting import redacted
from durable.run import Seen
from durable.staff import Asked, Decision
from durable.standing import Standing, standing, word

from . import deciding

__all__ = ["Bulk"]

MOST = 1_000  # runs decided about in one request
_NAMED = 20


class Bulk:
    """The actions of a list. A mixin of the admin, which knows `model` and `name`."""

    actions: Any = ("retry_selected", "cancel_selected")

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> dict[str, Any]:
        """Offer only what the shape has."""
        given = {} if action_location is None else {"action_location": action_location}  # Django says it from 6.1 on
        found: dict[str, Any] = super().get_actions(request, **given)  # type: ignore[misc]
        names = {one.name for one in self.model.staff_decisions()}  # type: ignore[attr-defined]
        if "cancel" not in names:
            found.pop("cancel_selected", None)
        if not names & {"retry", "run-now"}:
            found.pop("retry_selected", None)
        return found

    @admin.action(description=gettext_lazy("Retry selected runs now"), permissions=["change"])
    def retry_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Make due at once what was given up or canceled, and what waits for its time."""
        self._decide(request, queryset, ("retry", "run-now"), _("retried"), "")

    @admin.action(description=gettext_lazy("Cancel selected runs"), permissions=["change"])
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Ask, then cancel what is open."""
        if "confirmed" in request.POST:
            self._decide(request, queryset, ("cancel",), _("canceled"), request.POST.get("reason", "").strip()[:500])
            return None
        now = clock.read(connections[queryset.db])
        context = {
            **self.admin_site.each_context(request),  # type: ignore[attr-defined]
            "title": _("Cancel selected runs: are you sure?"),
            "opts": self.opts,  # type: ignore[attr-defined]
            "media": self.media,  # type: ignore[attr-defined]
            "runs": [(run.pk, self.name(run), word(run, now)) for run in queryset[:_NAMED]],  # type: ignore[attr-defined]
            "chosen": request.POST.getlist("_selected_action"),
            "across": request.POST.get("select_across", "0"),
            "count": queryset[: MOST + 1].count(),
        }
        request.current_app = self.admin_site.name  # type: ignore[attr-defined]
        return TemplateResponse(request, "admin/durable/cancel_selected.html", context)

    def _decide(
        self, request: HttpRequest, queryset: QuerySet[Any], names: tuple[str, ...], done: str, reason: str
    ) -> None:
        decisions = [one for one in self.model.staff_decisions() if one.name in names]  # type: ignore[attr-defined]
        runs, moved = list(queryset[: MOST + 1]), 0
        left: dict[str, list[str]] = defaultdict(list)
        for run in runs[:MOST]:
            why = self._decide_one(request, run, decisions, reason)
            if why:
                left[why].append(f"{self.name(run)} ({run.status})")  # type: ignore[attr-defined]
            else:
                moved += 1
        said = ngettext("%(moved)s run %(done)s.", "%(moved)s runs %(done)s.", moved) % {"moved": moved, "done": done}
        self.message_user(request, said, messages.SUCCESS if moved else messages.INFO)  # type: ignore[attr-defined]
        if left:
            count = sum(len(those) for those in left.values())
            parts = [f"{why}: {', '.join(those[:_NAMED])}" for why, those in left.items()]
            note = ngettext(
                "%(count)s left as it was. %(parts)s.", "%(count)s left as they were. %(parts)s.", count
            ) % {"count": count, "parts": "; ".join(parts)}
            self.message_user(request, note, messages.WARNING)  # type: ignore[attr-defined]
        if len(runs) > MOST:
            note = _("Only the first %(most)s were looked at; choose again for the others.") % {"most": MOST}
            self.message_user(request, note, messages.WARNING)  # type: ignore[attr-defined]

    def _decide_one(self, request: HttpRequest, run: Any, decisions: list[Decision], reason: str) -> str:
        """Return why the run was left alone, or nothing where the decision was made."""
        now = now_of(run)
        lawful = [one for one in decisions if one.is_lawful(run, now)]
        if not lawful:
            return _why_not(run, standing(run, now))
        if not self.may(request, lawful[0], run):  # type: ignore[attr-defined]
            return _("you may not decide that")
        asked = Asked(seen=Seen(run.status, run.fence), user=request.user, reason=reason)
        try:
            done = deciding.carry_out(self, request, run, lawful[0], asked)
        except (DurableError, ValueError) as error:
            return redacted(str(error))[:200]
        return "" if done else _("moved on meanwhile")


def _why_not(run: Any, at: Standing) -> str:
    if at in (Standing.RUNNING, Standing.LAPSED, Standing.ORPHANED):
        return _("somebody holds it")
    if at is Standing.DUE:
        return _("due already")
    if at is Standing.DONE:
        return _("done, and never runs again")
    return _("nothing of the kind may be done with it now")
