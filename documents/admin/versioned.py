"""
VersionedModelAdmin: two people with the same row open can no longer overwrite each other without seeing it.

For any model; no column is added and no code but the base class is changed:

    @admin.register(Book)
    class BookAdmin(VersionedModelAdmin): ...

The page carries what it had shown, beside the form and not as a field of it, so no `fields` or `fieldsets` can lose it.
On save the row is locked and compared. The list with `list_editable` is guarded in the same way, and rows of inlines
are compared too. Where a ModelKind is registered for the model, each save becomes a version under the editor's name.
Shell, loaddata and other forms are not held up; what they change is what the next editor is shown.
"""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db import models, router, transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from documents.admin.bases import digest_of, digests, packed, unpacked
from documents.admin.guarded import guarded_form, last_editor, submitted
from documents.kinds import kinds
from documents.modelkinds import ModelKind

if TYPE_CHECKING:  # only the stubs know a parameter
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin

__all__ = ["VersionedModelAdmin"]

INPUT = "_documents_base"


class VersionedModelAdmin(_ModelAdmin):
    """A ModelAdmin whose pages cannot overwrite what they have not shown."""

    change_form_template = "admin/documents/versioned_change_form.html"
    change_list_template = "admin/documents/versioned_change_list.html"

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row; for a save, under its lock, so that nobody writes between our look and our UPDATE."""
        row = super().get_object(request, object_id, from_field)
        if row is None or request.method != "POST" or not transaction.get_connection(self._using()).in_atomic_block:
            return row
        for kind in self._kinds():
            kind.hold(str(getattr(row, kind.key_field)))
        self.model._base_manager.using(self._using()).select_for_update().filter(pk=row.pk).values_list("pk").first()
        return super().get_object(request, object_id, from_field)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form, with the guard in it where a row is being saved."""
        form = super().get_form(request, obj, change=change, **kwargs)
        if not change or obj is None or request.method != "POST":
            return form
        found = unpacked(request.POST.get(INPUT, ""), self._name(obj))
        request._documents_now = self._bases(request, obj)  # type: ignore[attr-defined]
        return guarded_form(form, found, self._moved_inlines(request, obj, found or {}))

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Put the base beside the form: of the row as it is now, not as a refused form would have it."""
        obj = kwargs.get("obj")
        if obj is not None and obj.pk is not None:
            now = getattr(request, "_documents_now", None) or self._bases(request, obj)
            context["documents_base"] = packed(now, self._name(obj))
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save, and let each ModelKind of this model make its version under the editor's name."""
        super().save_model(request, obj, form, change)
        for kind in self._kinds():
            with transaction.atomic(using=self._using()):
                kind.adopt(obj, by=request.user)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Show the list; with list_editable, save it in one transaction, against what the page had shown."""
        if request.method == "POST" and self.list_editable and "_save" in request.POST:
            with transaction.atomic(using=self._using()):
                return self._with_bases(super().changelist_view(request, extra_context))
        return self._with_bases(super().changelist_view(request, extra_context))

    def get_changelist_formset(self, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the formset of list_editable, with the guard in it."""
        formset = super().get_changelist_formset(request, **kwargs)
        bases = unpacked(request.POST.get(INPUT, ""), self._list_name()) if request.method == "POST" else {}
        return _guarded_formset(formset, bases, self._using())

    def _with_bases(self, response: HttpResponse) -> HttpResponse:
        context = response.context_data if isinstance(response, TemplateResponse) else None
        changelist = context.get("cl") if context else None
        if context and changelist is not None and changelist.formset is not None:
            names = self.list_editable
            # Read again: a refused formset has written the submitted values into its rows.
            rows = self.model._base_manager.filter(pk__in=[row.pk for row in changelist.result_list])
            found = {str(row.pk): digests(row, names) for row in rows}
            context["documents_base"] = packed(found, self._list_name())
        return response

    def _bases(self, request: HttpRequest, obj: Any) -> dict[str, Any]:
        lines = {
            inline.get_formset(request, obj).get_default_prefix(): digest_of([digests(row) for row in rows])
            for inline, rows in self._inline_rows(request, obj)
        }
        return {**digests(obj), **{f"+{prefix}": digest for prefix, digest in lines.items()}}

    def _moved_inlines(self, request: HttpRequest, obj: Any, base: dict[str, Any]) -> list[str]:
        now = request._documents_now  # type: ignore[attr-defined]
        return [
            _("%(rows)s (stored now: %(values)s)")
            % {"rows": inline.verbose_name_plural or inline.opts.verbose_name_plural, "values": _listed(rows)}
            for inline, rows in self._inline_rows(request, obj)
            if base
            and base.get(name := f"+{inline.get_formset(request, obj).get_default_prefix()}") is not None
            and base[name] != now[name]
        ]

    def _inline_rows(self, request: HttpRequest, obj: Any) -> list[tuple[Any, list[models.Model]]]:
        found: list[tuple[Any, list[models.Model]]] = []
        for inline in self.get_inline_instances(request, obj):
            key: Any = getattr(inline.get_formset(request, obj), "fk", None)
            if key is not None:
                found.append((inline, list(inline.model._base_manager.filter(**{key.name: obj}).order_by("pk"))))
        return found

    def _kinds(self) -> list[ModelKind]:
        return [kind for kind in kinds().values() if isinstance(kind, ModelKind) and kind.model is self.model]

    def _using(self) -> str:
        return router.db_for_write(self.model)

    def _name(self, obj: Any) -> str:
        return f"{self.opts.label_lower}:{obj.pk}"

    def _list_name(self) -> str:
        return f"{self.opts.label_lower}:"


def _listed(rows: list[models.Model]) -> str:
    more = ", …" if len(rows) > 5 else ""
    return (", ".join(str(row) for row in rows[:5]) or _("none")) + more


def _guarded_formset(formset: type[Any], bases: dict[str, Any] | None, using: str) -> type[Any]:
    class Guarded(formset):  # type: ignore[misc]
        def clean(self) -> None:
            super().clean()
            for form in self.forms:
                if form.has_changed():
                    _judge_row(form, bases, using)

        def is_valid(self) -> bool:
            # clean() runs after each form's own errors were counted; those it adds must count as well.
            return bool(super().is_valid() and not any(form.errors for form in self.forms))

    Guarded.__name__ = formset.__name__
    return Guarded


def _judge_row(form: Any, bases: dict[str, Any] | None, using: str) -> None:
    row = form.instance
    now = type(row)._base_manager.using(using).select_for_update().filter(pk=row.pk).first()
    base = (bases or {}).get(str(row.pk))
    if now is None or base is None:
        form.add_error(None, _("Nothing was saved: this row was not on the page, or is no more. Load the list anew."))
        return
    stored = digests(now, base)
    moved = [name for name in base if name in form.fields and base[name] != stored[name]]
    typed = {name: submitted(form, name, form.cleaned_data) for name in moved}
    against = [name for name in moved if typed[name] not in (base[name], stored[name], "")]
    if against:
        labels = ", ".join(str(form.fields[name].label or name) for name in against)
        said = _("Nothing was saved: %(who)s changed %(fields)s meanwhile. Stored now: %(values)s.")
        values = ", ".join(str(getattr(now, name)) for name in against)
        form.add_error(None, said % {"who": last_editor(row), "fields": labels, "values": values})
        return
    # save() writes every column. Those that this person has not touched are what they are now, not what they were.
    for field in row._meta.concrete_fields:
        if field.name not in form.fields or field.name in moved:
            setattr(row, field.attname, getattr(now, field.attname))
