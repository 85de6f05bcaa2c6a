"""
The session inside a Django form: a field that is no field, but makes the form around it save itself.

    class BookForm(forms.ModelForm):
        session = SessionField("book")                       # a registered ModelKind

    form = BookForm(instance=book)
    form.fields["session"].of(book.slug, request)            # which document, and who is looking at it

Without JavaScript the form posts as it always did.
"""

import json
from typing import Any

from django import forms
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from .kinds import kind_named
from .words import differing

__all__ = ["SCRIPT", "SessionField", "SessionWidget", "attributes", "element", "script"]

SCRIPT = "documents/document-session.js"


def attributes(kind: str, key: str, request: HttpRequest | None, words: dict[str, str] | None = None) -> dict[str, str]:
    """
    Return what `<document-session>` has to know, its words in the language of this moment too; `words` go first.

    Raise NotFound where there is no such kind.
    """
    from .views.answers import user_tag

    of = kind_named(kind)
    said = {
        "data-url": reverse("documents:document", args=[kind, key]),
        "data-max-bytes": str(of.limits.max_bytes),
        "data-schema": str(of.schema),
    }
    if request is not None and hasattr(request, "user"):
        said["data-user"] = user_tag(request)
    if spoken := {**differing(), **(words or {})}:
        said["data-words"] = json.dumps(spoken)
    return said


def element(said: dict[str, str]) -> SafeString:
    """Return the element with these attributes."""
    flat = format_html_join("", ' {}="{}"', said.items())
    return format_html("<document-session{}></document-session>", flat)


def script(*, nonce: str = "") -> SafeString:
    """Return the script element: a module, so it waits for the page and runs once however often it is named."""
    if nonce:
        return format_html('<script type="module" src="{}" nonce="{}"></script>', static(SCRIPT), nonce)
    return format_html('<script type="module" src="{}"></script>', static(SCRIPT))


class SessionWidget(forms.Widget):
    """Renders the chip and the panel. It has no value and sends none."""

    kind = ""
    key = ""
    request: HttpRequest | None = None

    @property
    def media(self) -> forms.Media:
        """The module script, for `{{ form.media }}`."""
        return forms.Media(js=[forms.Script(SCRIPT, type="module")])  # type: ignore[list-item]

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """Return the element, or nothing before `of()` said which document it is."""
        if not self.key:
            return SafeString("")
        said = attributes(self.kind, self.key, self.request)
        return element(said)

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        """Say that nothing was sent, so that a model form leaves the row alone."""
        return True

    def use_required_attribute(self, initial: Any) -> bool:
        """There is nothing to fill in."""
        return False


class SessionField(forms.Field):
    """Put it into a form over a `ModelKind`'s model, or any kind whose content has the form's names."""

    widget = SessionWidget

    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__(required=False, **{"label": "", **options})
        self.widget.kind = kind

    def of(self, key: Any, request: HttpRequest | None = None) -> None:
        """Say which document the form shows, and for whom."""
        self.widget.key, self.widget.request = str(key), request
