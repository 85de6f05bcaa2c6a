"""What every admin of ours is: nothing added, nothing deleted, and no list that reads a content."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from documents.kinds import kinds
from documents.models import Document

if TYPE_CHECKING:  # only the stubs know a parameter
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin

__all__ = ["KindFilter", "ReadOnlyAdmin"]


class KindFilter(admin.SimpleListFilter):
    """By kind. The kinds are asked of the code, not of a million rows."""

    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the registered kinds."""
        return [(name, name) for name in sorted(kinds())]

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Return the rows of that kind."""
        if not self.value():
            return queryset
        return queryset.filter(**{"kind" if queryset.model is Document else "document__kind": self.value()})


class ReadOnlyAdmin(_ModelAdmin):
    """An admin to look at. What may be done is a button on a page of its own."""

    show_full_result_count = False
    list_per_page = 50

    class Media:
        css = {"all": ["admin/css/forms.css", "documents/admin.css"]}

    def absent(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say that there is no such row, as every admin says it."""
        redirect: HttpResponse = super()._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[misc]
        return redirect

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: documents come through their own door."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody, for the same reason."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: history is pruned by a command, and a row is never taken out of it."""
        return False
