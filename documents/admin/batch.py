"""
Keeping what is stored for several conflicts at once: shown on one page, then settled one by one.

Each settlement names the version and the copy that stood on that page, as on a page of its own. Where either moved
meanwhile, or somebody was first, that one stays as it is and is named; the others are settled.
"""

import uuid
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from documents.errors import DocumentsError
from documents.models import Conflict
from documents.outcomes import MovedOn, Settled, SettledBefore
from documents.settling import settle

__all__ = ["keep_stored"]

MOST = 200


@admin.action(permissions=["settle"], description=gettext_lazy("Keep what is stored, for all chosen"))
def keep_stored(model_admin: Any, request: HttpRequest, queryset: models.QuerySet[Conflict]) -> HttpResponse | None:
    """Ask first, with everything that would be settled on the page; then settle each against what the page showed."""
    chosen = list(
        queryset.filter(settled_at=None).select_related("document").order_by("document__key", "opened_at")[: MOST + 1]
    )
    if not chosen:
        messages.warning(request, _("None of these conflicts is open."))
        return None
    if len(chosen) > MOST:
        messages.warning(request, _("Choose at most %(n)s conflicts at once.") % {"n": MOST})
        return None
    if "settle" not in request.POST:
        return _page(model_admin, request, chosen)
    _settle_all(model_admin, request, chosen)
    return None


def _page(model_admin: Any, request: HttpRequest, chosen: list[Conflict]) -> HttpResponse:
    context = {
        **model_admin.admin_site.each_context(request),
        "title": _("Keep what is stored"),
        "opts": model_admin.opts,
        "media": model_admin.media,
        "conflicts": chosen,
        "checkbox": ACTION_CHECKBOX_NAME,
        "save_id": uuid.uuid4(),
    }
    request.current_app = model_admin.admin_site.name
    return TemplateResponse(request, "admin/documents/keep_stored.html", context)


def _settle_all(model_admin: Any, request: HttpRequest, chosen: list[Conflict]) -> None:
    reason = request.POST.get("reason", "").strip()
    done = 0
    for conflict in chosen:
        version, changes = _seen(request, conflict)
        try:
            outcome = settle(
                conflict.pk,
                choice=Conflict.Decision.KEEP_STORED,
                expected_version=version,
                expected_changes=changes,
                save_id=_save_id(request, conflict),
                by=request.user,
                reason=reason,
            )
        except DocumentsError as error:
            said = _("The conflict on %(document)s is not settled. %(error)s")
            messages.error(request, said % {"document": conflict.document, "error": error})
            continue
        if not isinstance(outcome, Settled):
            messages.warning(request, _left(conflict, outcome))
            continue
        done += 1
        if not outcome.replayed:
            model_admin.log_change(request, conflict, _("Stored kept, with others."))
    if done:
        said = ngettext("%(n)s conflict settled: stored kept.", "%(n)s conflicts settled: stored kept.", done)
        messages.success(request, said % {"n": done} + " " + _("The authors are told at their next read."))


def _left(conflict: Conflict, outcome: SettledBefore | MovedOn) -> str:
    which = {"document": conflict.document, "author": conflict.by_name}
    if isinstance(outcome, SettledBefore):
        said = _("The copy of %(author)s on %(document)s was settled first by %(name)s.")
        return said % {**which, "name": outcome.by}
    said = _(
        "The copy of %(author)s on %(document)s is not settled: "
        "something changed since the page was shown (version %(version)s)."
    )
    return said % {**which, "version": outcome.stored.version}


def _seen(request: HttpRequest, conflict: Conflict) -> tuple[int, int]:
    """Return the version and the copy that were on the page; zeros, which nothing ever is at, where it showed neither."""
    version, _dot, changes = request.POST.get(f"seen-{conflict.pk}", "").partition(".")
    whole = all(part.isascii() and part.isdigit() and len(part) < 19 for part in (version, changes))
    return (int(version), int(changes)) if whole else (0, 0)


def _save_id(request: HttpRequest, conflict: Conflict) -> uuid.UUID:
    """Return the same name for the same button pressed twice."""
    try:
        page = uuid.UUID(request.POST.get("save_id", ""))
    except ValueError:
        page = uuid.uuid4()
    return uuid.uuid5(page, str(conflict.pk))
