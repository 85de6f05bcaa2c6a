"""
The conflict page: base, stored and theirs side by side, a choice, a preview, and one button that settles.

Nothing of the copies is posted back, only choices; so three megabytes settle as quickly as three words, and no form
turns a line break into two characters. The page names the version and the copy it shows. If either moved, nothing is
written and the page comes again with the choices kept and the news marked.
"""

import uuid
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from documents.admin.batch import keep_stored
from documents.admin.choices import choices_of, number_in, picks_in, preview_of
from documents.admin.reading_only import KindFilter, ReadOnlyAdmin
from documents.admin.sides import Sides, looked_at
from documents.errors import DocumentsError, Unresolved
from documents.models import Conflict
from documents.outcomes import MovedOn, Settled, SettledBefore
from documents.settling import settle

__all__ = ["ConflictAdmin"]


class StateFilter(admin.SimpleListFilter):
    """Open conflicts unless somebody asks for others: the list is a list of things to do."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the two other states."""
        return [("settled", _("settled")), ("all", _("all"))]

    def choices(self, changelist: Any) -> Any:
        """Call the first choice by its name instead of "All"."""
        for index, choice in enumerate(super().choices(changelist)):
            yield {**choice, "display": _("open")} if index == 0 else choice

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Conflict]) -> models.QuerySet[Conflict]:
        """Return the rows in that state."""
        if self.value() == "all":
            return queryset
        return queryset.filter(settled_at__isnull=self.value() != "settled")


class ConflictAdmin(ReadOnlyAdmin):
    """Refused copies, and the page that settles them."""

    list_display = ("title", "author", "base_version", "stored_version", "changed_at", "state")
    list_display_links = ("title",)
    list_filter = (StateFilter, KindFilter)
    list_select_related = ("document",)
    search_fields = ("document__key", "by_name")
    ordering = ("-changed_at",)
    actions = (keep_stored,)

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Conflict]:
        """Return conflicts without their copies."""
        return super().get_queryset(request).defer("theirs")

    @admin.display(description=gettext_lazy("document"), ordering="document__key")
    def title(self, conflict: Conflict) -> str:
        """Return which document it is about."""
        return str(conflict.document)

    @admin.display(description=gettext_lazy("author"), ordering="by_name")
    def author(self, conflict: Conflict) -> str:
        """Return whose copy was refused."""
        return conflict.by_name

    @admin.display(description=gettext_lazy("state"))
    def state(self, conflict: Conflict) -> str:
        """Return the decision, or that there is none."""
        if conflict.settled_at is None:
            return _("open")
        return _("%(decision)s by %(name)s") % {
            "decision": conflict.get_decision_display(),
            "name": conflict.settled_by_name,
        }

    def has_settle_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may decide."""
        return request.user.has_perm("documents.settle_conflict")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Who may decide may look."""
        return super().has_view_permission(request, obj) or self.has_settle_permission(request)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the conflict; on POST preview or settle it."""
        try:
            key = uuid.UUID(unquote(object_id))
        except ValueError:
            return self.absent(request, object_id)
        conflict = Conflict.objects.select_related("document").filter(pk=key).first()
        if not self.has_view_permission(request, conflict):
            raise PermissionDenied
        if conflict is None:
            return self.absent(request, object_id)
        if request.method == "POST":
            if not self.has_settle_permission(request):
                raise PermissionDenied
            return self._posted(request, conflict)
        return self._page(request, conflict, looked_at(conflict, {}))

    def _posted(self, request: HttpRequest, conflict: Conflict) -> HttpResponse:
        choice, reason = request.POST.get("choice", ""), request.POST.get("reason", "").strip()
        version, changes = number_in(request, "version"), number_in(request, "changes")
        picks = picks_in(request)
        given = {"choice": choice, "reason": reason, "seen": version}
        if "preview" in request.POST or not choice:
            sides = looked_at(conflict, picks, seen_version=version)
            if not choice:
                messages.warning(request, _("Nothing was written: choose what becomes of this conflict."))
            return self._page(request, conflict, sides, given, preview=bool(choice))
        try:
            outcome = settle(
                conflict.pk,
                choice=choice,
                expected_version=version,
                expected_changes=changes,
                picks=picks,
                save_id=request.POST.get("save_id"),
                by=request.user,
                reason=reason,
            )
        except DocumentsError as error:
            sides = looked_at(conflict, picks, seen_version=version)
            messages.error(request, _refusal(error, sides))
            return self._page(request, conflict, sides, given)
        match outcome:
            case Settled():
                return self._settled(request, conflict, outcome)
            case SettledBefore():
                messages.error(request, _before(outcome))
                return HttpResponseRedirect(request.path)
            case MovedOn():
                conflict.refresh_from_db()
                messages.warning(request, _moved(outcome, version, changes))
                return self._page(request, conflict, looked_at(conflict, picks, seen_version=version), given)

    def _settled(self, request: HttpRequest, conflict: Conflict, outcome: Settled) -> HttpResponse:
        said = _("%(decision)s; the document is at version %(version)s.") % {
            "decision": Conflict.Decision(outcome.decision).label.capitalize(),
            "version": outcome.version,
        }
        if not outcome.replayed:
            self.log_change(request, conflict, said)
        messages.success(request, said + " " + _("The author is told at their next read."))
        return HttpResponseRedirect(reverse("admin:documents_conflict_changelist", current_app=self.admin_site.name))

    def _page(
        self,
        request: HttpRequest,
        conflict: Conflict,
        sides: Sides,
        given: dict[str, Any] | None = None,
        *,
        preview: bool = False,
    ) -> HttpResponse:
        given = given or {"choice": "", "reason": ""}
        context = {
            **self.admin_site.each_context(request),
            "title": _("Conflict on %(document)s") % {"document": conflict.document},
            "opts": self.opts,
            "media": self.media,
            "conflict": conflict,
            "sides": sides,
            "given": given,
            "choices": choices_of(conflict, sides),
            "may_settle": self.has_settle_permission(request) and conflict.settled_at is None and sides.kind,
            "preview": preview_of(conflict, sides, given["choice"]) if preview else None,
            "save_id": uuid.uuid4(),
            "open": {*sides.merged.open} if sides.merged else set(),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "admin/documents/conflict.html", context)


def _refusal(error: DocumentsError, sides: Sides) -> str:
    if isinstance(error, Unresolved):
        return _("Nothing was written. Still to decide, marked in the table: %(places)s") % {
            "places": ", ".join(sides.labels(error.details["open"][:10]))
        }
    return _("Nothing was written. %(error)s") % {"error": error}


def _before(outcome: SettledBefore) -> str:
    return _("This conflict was settled first by %(name)s (%(decision)s). Nothing of yours was written.") % {
        "name": outcome.by,
        "decision": Conflict.Decision(outcome.decision).label,
    }


def _moved(outcome: MovedOn, version: int, changes: int) -> str:
    if outcome.stored.version != version:
        return _(
            "Nothing was written: while you were deciding, version %(version)s was stored by %(name)s. "
            "Your choices are kept; look at the lines marked “new”, then settle again."
        ) % {"name": outcome.stored.by, "version": outcome.stored.version}
    return _(
        "Nothing was written: while you were deciding, the author sent a newer copy. "
        "Your choices are kept; look again, then settle."
    )
