"""The admin of runs of any shape: the list, the page of one run, and what may be pressed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable.explain import duration, now_of
from durable.redacting import redacted
from durable.staff import Decision
from durable.standing import Standing, is_stuck, standing

from . import deciding, page
from .badges import badge
from .bulk import Bulk
from .filters import BegunFilter, LeaseFilter, StandingFilter, StepFilter
from .ids import id_in
from .paging import FOUND, RunList, RunPaginator

if TYPE_CHECKING:  # only the stubs know a parameter
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin

__all__ = ["RunAdmin"]


class RunAdmin(Bulk, _ModelAdmin):
    """
    Runs of one kind. Nothing is edited here: what may be done is a decision, with a page of its own.

    Who has the model's `view` permission may look, who has `change` may decide; a decision may ask for another one.
    """

    list_display: Any = ("name", "state", "progress", "held_by_or_next", "age")
    list_filter: ClassVar[Any] = (StandingFilter, LeaseFilter, StepFilter, BegunFilter)
    list_fields: ClassVar[tuple[str, ...]] = ()  # further columns that the methods of a subclass read
    sortable_by: ClassVar[Any] = ()  # the primary key's own order is the one that costs nothing
    search_fields: ClassVar[Any] = ("key",)
    ordering: ClassVar[Any] = ("-id",)
    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = RunPaginator
    change_list_template = "admin/durable/run_change_list.html"
    run_template = "admin/durable/run.html"

    class Media:
        css: ClassVar[Any] = {"all": ["durable/desk.css"]}

    # What may be seen --------------------------------------------------------------------------------------------

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RunList]:
        """Return the list that reads no more than it shows."""
        return RunList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find a run by its id, by its key, or by the beginning of its key where the key has an index for that."""
        term = search_term.strip()
        if not term:
            return queryset, False
        pk = id_in(term)
        unique: bool = self.model._meta.get_field("key").unique
        by_key = Q(key__startswith=term) if unique else Q(key=term)
        # First which, in no order: asked for the newest that begin so, the database may look at each run for its key.
        found = queryset.filter(by_key | Q(pk=pk) if pk else by_key).order_by().values_list("pk", flat=True)[:FOUND]
        return queryset.filter(pk__in=list(found)), False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: a run is started by the program that needs it."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: settled runs are pruned by a command, with their age."""
        return False

    def get_urls(self) -> list[Any]:
        """Add the page of each decision, and the part of a run's page that is read again."""
        info, wrap = f"{self.opts.app_label}_{self.opts.model_name}", self.admin_site.admin_view
        return [
            path("<path:object_id>/decide/<slug:name>/", wrap(self.decide_view), name=f"{info}_decide"),
            path("<path:object_id>/live/", wrap(self.live_view), name=f"{info}_live"),
            *super().get_urls(),
        ]

    # Columns -----------------------------------------------------------------------------------------------------

    @admin.display(description=gettext_lazy("run"))
    def name(self, run: Any) -> str:
        """Return what the run is called."""
        return run.key or str(run.pk)

    @admin.display(description=gettext_lazy("state"))
    def state(self, run: Any) -> SafeString:
        """Return where it stands, and below it the error's first line."""
        shown, said = badge(run, self._now(run)), self.error(run)
        if is_stuck(run, self._now(run)):
            shown = format_html('{} <strong class="dur-bad">{}</strong>', shown, _("stuck"))
        return format_html('{}<div class="dur-error">{}</div>', shown, said) if said else shown

    @admin.display(description=gettext_lazy("progress"))
    def progress(self, run: Any) -> SafeString:
        """Return how far it has come."""
        done, every = run.progress()
        said = _("%(done)s of %(all)s") % {"done": done, "all": every}
        return format_html(
            '<span class="dur-progress"><svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
            '<rect class="dur-track" width="100" height="6"/><rect class="dur-fill" width="{}" height="6"/></svg> {}</span>',
            round(100 * done / every) if every else 100,
            said,
        )

    @admin.display(description=gettext_lazy("held by / next try"))
    def held_by_or_next(self, run: Any) -> str:
        """Return who holds it and for how long, or when it is taken by itself."""
        now, at = self._now(run), standing(run, self._now(run))
        owner = str(run.owner).partition(" ")[0]
        if at in (Standing.RUNNING, Standing.ORPHANED):
            return _("%(owner)s, for %(span)s") % {"owner": owner, "span": duration(run.lease_expires_at - now)}
        if at is Standing.LAPSED:
            ago = now - (run.lease_expires_at or run.created_at)
            return _("%(owner)s, lapsed %(span)s ago") % {"owner": owner, "span": duration(ago)}
        if at is Standing.WAITING:
            return _("in %(span)s") % {"span": duration(run.due_at - now)}
        if at is Standing.DUE:
            return _("due for %(span)s") % {"span": duration(now - (run.due_at or now))}
        return "–"

    @admin.display(description=gettext_lazy("age"))
    def age(self, run: Any) -> SafeString:
        """Return how long ago it began."""
        return format_html(
            '<time datetime="{}" title="{}">{}</time>',
            run.created_at.isoformat(),
            f"{run.created_at:%Y-%m-%d %H:%M:%S} UTC",
            duration(self._now(run) - run.created_at),
        )

    @admin.display(description=gettext_lazy("last error"))
    def error(self, run: Any) -> str:
        """Return the error's first line."""
        line = redacted(str(run.last_error)).strip().partition("\n")[0]
        return line if len(line) <= 120 else line[:119] + "…"

    @admin.display(description=gettext_lazy("tries"))
    def tries(self, run: Any) -> int:
        """Return how often it was tried since its last receipt."""
        return int(run.attempts)

    @staticmethod
    def _now(run: Any) -> datetime:
        now: datetime = run.__dict__.get("read_at") or now_of(run)
        return now

    # The page of one run -----------------------------------------------------------------------------------------

    def may(self, request: HttpRequest, decision: Decision, run: Any = None) -> bool:
        """Return whether this person may make that decision."""
        if "." in decision.permission:
            return request.user.has_perm(decision.permission)
        return bool(getattr(self, f"has_{decision.permission}_permission")(request, run))

    def panels(self, request: HttpRequest, run: Any) -> list[page.Panel]:
        """Return what is folded away below the timeline. Override it to add to it."""
        own, contract = self.field_names()
        found = []
        if own:
            found.append(page.Panel(name="fields", title=_("Fields"), body=_table(page.fields_of(run, own))))
        title = _("The row as it stands")
        return [*found, page.Panel(name="row", title=title, body=_table(page.fields_of(run, contract)))]

    def decisions_made(self, run: Any) -> list[page.Made]:
        """Return what was decided about the run, newest first. Override it where the shape keeps that itself."""
        return page.decisions_of(run)

    def field_names(self) -> tuple[list[str], list[str]]:
        """Return the names of the kind's own fields, and those of the contract's."""
        guarded = self.model.contract_columns() - {"failures", "last_error"}
        names = [field.name for field in self.model._meta.concrete_fields]
        return [name for name in names if name not in self.model.contract_columns()], [
            name for name in names if name in guarded
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list under the name of what is in it: nothing is changed there."""
        title = capfirst(self.opts.verbose_name_plural)
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the run. It is never posted to: each decision has an address of its own."""
        run = self.get_object(request, object_id)
        if not self.has_view_permission(request, run) or request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        if run is None:
            redirect: HttpResponse = super()._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[misc]
            return redirect
        context = {
            **self.admin_site.each_context(request),
            **self._context(request, run),
            "title": f"{capfirst(self.opts.verbose_name)} · {self.name(run)}",
            **(extra_context or {}),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, self.run_template, context)

    def live_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return the part of the run's page that changes."""
        run = self.get_object(request, object_id)
        if not self.has_view_permission(request, run):
            raise PermissionDenied
        if run is None:
            raise Http404
        request.current_app = self.admin_site.name
        html = render_to_string("admin/durable/_run.html", self._context(request, run), request=request)
        return HttpResponse(html, headers={"Cache-Control": "no-store"})

    def decide_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Ask for confirmation of a decision; on POST make it."""
        return deciding.answer(self, request, object_id, name)

    def _context(self, request: HttpRequest, run: Any) -> dict[str, Any]:
        now = now_of(run)
        lawful = [one for one in type(run).staff_decisions() if one.is_lawful(run, now) and self.may(request, one, run)]
        return {
            **page.context_of(run, now, lawful, self.panels(request, run), self.decisions_made(run)),
            "opts": self.opts,
            "media": self.media,
            "may_not": not any(self.may(request, one, run) for one in type(run).staff_decisions()),
            "history": reverse(
                f"admin:{self.opts.app_label}_{self.opts.model_name}_history",
                args=[run.pk],
                current_app=self.admin_site.name,
            ),
        }


def _table(rows: list[tuple[str, str]]) -> SafeString:
    return SafeString(render_to_string("admin/durable/_fields.html", {"rows": rows}))
