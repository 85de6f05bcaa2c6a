"""
Forms that notice a second editor.

The form knows what the page had shown (the base) and what the row says now, under its lock. A field that moved
meanwhile is shown: untouched by this person, it now shows what is stored; touched by both, theirs stays in the form
and the stored value stands beside it. Nothing is saved until they have seen that and save again.
"""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.text import get_text_list
from django.utils.translation import gettext as _

from documents.admin.bases import digest_of, digests
from documents.admin.marks import changed

__all__ = ["guarded_form", "last_editor", "submitted"]


def guarded_form(form_class: type[Any], base: Mapping[str, str] | None, lines: list[str]) -> type[Any]:
    """
    Return the form class with the guard in it.

    `base` None: the page carried none, so nothing can be saved from it. `lines` names inlines whose rows moved.
    """

    class Guarded(form_class):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.now = digests(self.instance)  # before _post_clean() writes the submitted values into the instance

        def clean(self) -> Any:
            cleaned = super().clean()
            data = self.cleaned_data if cleaned is None else cleaned
            _same_line_breaks(self, data)
            _judge(self, data, base, lines)
            return cleaned

    Guarded.__name__ = form_class.__name__
    return Guarded


def _same_line_breaks(form: Any, data: Any) -> None:
    """A browser posts every line break as two characters. Where the stored text has one, keep it so."""
    for name, value in data.items():
        stored = form.initial.get(name)
        if isinstance(value, str) and isinstance(stored, str) and "\r" in value and "\r" not in stored:
            data[name] = value.replace("\r\n", "\n")


def _judge(form: Any, data: Mapping[str, Any], base: Mapping[str, str] | None, lines: list[str]) -> None:
    if base is None:
        form.add_error(None, _("Nothing was saved: this page did not say what it had shown. Open it anew."))
        return
    moved = [name for name in form.fields if name in base and base[name] != form.now.get(name)]
    labels = [str(form.fields[name].label or name) for name in moved] + lines
    if not labels:
        return
    if not lines and all(submitted(form, name, data) == form.now[name] for name in moved):
        return  # both typed the same
    for name in moved:
        mine = submitted(form, name, data)
        if mine in (base[name], form.now[name]):
            _show_stored(form, name)
        else:
            stored, typed = _shown(form, name, form.initial.get(name)), _shown(form, name, data.get(name))
            note = format_html(
                '{} <span class="doc-text">{}</span>', _("Stored meanwhile, against yours:"), changed(stored, typed)
            )
            form.add_error(name, note)
    who = last_editor(form.instance)
    form.add_error(
        None,
        _(
            "Nothing was saved: %(who)s changed %(fields)s while you were editing. Fields you had not touched now show "
            "what is stored; where you both changed something, yours is in the form and the stored text beside it. "
            "Save again to store what you see."
        )
        % {"who": who, "fields": get_text_list(labels, _("and"))},
    )


def submitted(form: Any, name: str, data: Mapping[str, Any]) -> str:
    """Return the digest of what this person submitted for a field, or "" where it is not valid."""
    if name not in data:
        return ""
    field = form.instance._meta.get_field(name)
    if field.many_to_many:
        return digest_of(sorted_keys(data[name]))
    scratch = type(form.instance)()
    try:
        field.save_form_data(scratch, data[name])
        return digests(scratch, [name])[name]
    except (ValueError, TypeError):
        return ""


def sorted_keys(rows: Any) -> list[str]:
    """Return the keys of the chosen rows as digests() orders them."""
    return [str(row.pk) for row in sorted(rows, key=lambda row: row.pk)]


def _show_stored(form: Any, name: str) -> None:
    form.fields[name].bound_data = lambda data, initial: initial


def _shown(form: Any, name: str, value: Any) -> str:
    field: Any = form.fields[name]
    if isinstance(form.fields[name], forms.ModelMultipleChoiceField):
        rows = [row if isinstance(row, models.Model) else field.queryset.filter(pk=row).first() for row in value or []]
        return ", ".join(sorted(str(row) for row in rows))
    if isinstance(form.fields[name], forms.ModelChoiceField):
        row = value if isinstance(value, models.Model) else field.queryset.filter(pk=value).first()
        return str(row or "")
    value = field.prepare_value(value)
    return "" if value is None else str(value)


def last_editor(row: models.Model) -> str:
    """Return who changed a row last, by the admin's own log, and when; "somebody" where the log does not say."""
    entries = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(row), object_id=str(row.pk))
    entry = entries.select_related("user").order_by("-action_time").first()
    if entry is None:
        return _("somebody")
    when = formats.date_format(timezone.localtime(entry.action_time), "TIME_FORMAT")
    return _("%(name)s (%(time)s)") % {"name": entry.user.get_username(), "time": when}
