"""Documents and their revisions, to read: a list, a history, any two versions compared, and the way back."""

import uuid
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from documents import comparing, history
from documents.admin.marks import changed
from documents.admin.reading_only import KindFilter, ReadOnlyAdmin
from documents.conf import setting
from documents.door import value_of
from documents.errors import DocumentsError
from documents.kinds import DocumentKind, kinds
from documents.models import Conflict, Document, Revision
from documents.outcomes import Moved

__all__ = ["DocumentAdmin", "RevisionAdmin"]


class DocumentAdmin(ReadOnlyAdmin):
    """A document's page: where it stands, its open conflicts, its history."""

    list_display = ("__str__", "version", "saved_at", "state")
    list_filter = (KindFilter, ("deleted_at", admin.EmptyFieldListFilter))
    search_fields = ("key",)
    ordering = ("-id",)

    @admin.display(description=gettext_lazy("state"))
    def state(self, document: Document) -> str:
        """Return whether it is there."""
        return _("deleted") if document.deleted_at else _("stored")

    def has_restore_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may bring an old version back."""
        return request.user.has_perm("documents.change_document")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the history; on POST restore a version against the version that was on the screen."""
        document = Document.objects.filter(pk=_version(object_id) or 0).first()
        if not self.has_view_permission(request, document):
            raise PermissionDenied
        if document is None:
            return self.absent(request, object_id)
        if request.method == "POST":
            if not self.has_restore_permission(request):
                raise PermissionDenied
            self._restore(request, document)
            return HttpResponseRedirect(request.path)
        return self._page(request, document)

    def _page(self, request: HttpRequest, document: Document) -> HttpResponse:
        before = _version(request.GET.get("before"))
        entries = history.listed(document.kind, document.key, before=before, limit=setting("PAGE") + 1)
        page = entries[: setting("PAGE")]
        unfolded = request.GET.get("fold") == "0"
        lines = page if unfolded else history.folded(page)
        old, new = _version(request.GET.get("from")), _version(request.GET.get("to"))
        context = {
            **self.admin_site.each_context(request),
            "title": str(document),
            "opts": self.opts,
            "media": self.media,
            "document": document,
            "lines": lines,
            "before": before,
            "unfolded": unfolded,
            "folded": len(lines) < len(page),
            "older": page[-1].version if len(entries) > len(page) else None,
            "conflicts": Conflict.objects.filter(document=document, settled_at=None).defer("theirs")[:20],
            "comparison": _compared(document, old, new) if old and new else None,
            "restorable": self.has_restore_permission(request) and document.kind in kinds(),
            "save_id": uuid.uuid4(),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "admin/documents/document.html", context)

    def _restore(self, request: HttpRequest, document: Document) -> None:
        version = _version(request.POST.get("restore"))
        try:
            outcome = history.restore(
                document.kind,
                document.key,
                version or 0,
                expected_version=_version(request.POST.get("version")) or 0,
                save_id=request.POST.get("save_id"),
                by=request.user,
                reason=request.POST.get("reason", "").strip(),
            )
        except DocumentsError as error:
            messages.error(request, _("Nothing was restored. %(error)s") % {"error": error})
            return
        if isinstance(outcome, Moved):
            said = _(
                "Nothing was restored: version %(version)s was stored meanwhile by %(name)s. "
                "Look at it, then decide again."
            )
            messages.warning(request, said % {"name": outcome.stored.by, "version": outcome.stored.version})
            return
        said = _("Version %(old)s was restored as version %(new)s.") % {"old": version, "new": outcome.version}
        self.log_change(request, document, said)
        messages.success(request, said)


class RevisionAdmin(ReadOnlyAdmin):
    """One revision: what it said, and what it changed."""

    list_display = ("title", "version", "action", "by_name", "at", "size", "reason")
    list_display_links = ("title", "version")
    list_filter = ("action", KindFilter)
    list_select_related = ("document",)
    search_fields = ("document__key", "by_name")
    ordering = ("-id",)

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Revision]:
        """Return revisions without their contents."""
        return super().get_queryset(request).defer("content")

    @admin.display(description=gettext_lazy("document"), ordering="document__key")
    def title(self, revision: Revision) -> str:
        """Return which document it belongs to."""
        return str(revision.document)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the document's page with this revision compared to the one before it."""
        found = Revision.objects.select_related("document").filter(pk=_version(object_id) or 0).first()
        if not self.has_view_permission(request, found):
            raise PermissionDenied
        if found is None:
            return self.absent(request, object_id)
        context = {
            **self.admin_site.each_context(request),
            "title": _("%(document)s, version %(version)s") % {"document": found.document, "version": found.version},
            "opts": self.opts,
            "media": self.media,
            "document": found.document,
            "revision": found,
            "comparison": _compared(found.document, found.version - 1, found.version),
            "content": changed(found.content, found.content) if found.content else None,
            "document_url": reverse(
                "admin:documents_document_change", args=[found.document_id], current_app=self.admin_site.name
            ),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "admin/documents/revision.html", context)


def _compared(document: Document, old: int, new: int) -> dict[str, Any]:
    """Return the places in which two versions differ. A version that is not kept is compared as if it were empty."""
    kind = kinds().get(document.kind) or DocumentKind()
    found = {one.version: one for one in document.revisions.filter(version__in=[old, new])}
    values = [_value(found.get(version)) for version in (old, new)]
    fault = ""
    try:
        rows, more = comparing.compare(kind, *values[:1], *values)
    except DocumentsError as error:
        rows, more, fault = [], 0, str(error)
    return {
        "old": found.get(old),
        "new": found.get(new),
        "rows": [{"label": row.label, "text": changed(row.stored, row.theirs)} for row in rows],
        "more": more,
        "fault": fault,
    }


def _value(revision: Revision | None) -> Any:
    return value_of(revision.content) if revision and revision.content else None


def _version(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None
