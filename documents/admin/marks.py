"""Segments as HTML: struck through and underlined, with words for those who hear the page. Everything is escaped."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from documents.comparing import Segments, inline

__all__ = ["as_html", "changed"]


def as_html(segments: Segments) -> SafeString:
    """Return the segments as one piece of HTML."""
    return format_html_join("", "{}", ((_one(kind, text),) for kind, text in segments))


def changed(old: str | None, new: str | None) -> SafeString:
    """Return what became of a text, in one piece of HTML."""
    if new is None and old is None:
        return format_html('<span class="doc-none">{}</span>', _("not there"))
    if new is None:
        return format_html('<span class="doc-none">{}</span> {}', _("removed:"), as_html(inline(old, None)))
    return as_html(inline(old, new))


def _one(kind: str, text: str) -> SafeString | str:
    if kind == "ins":
        return format_html('<ins><span class="visually-hidden">{} </span>{}</ins>', _("added:"), text)
    if kind == "del":
        return format_html('<del><span class="visually-hidden">{} </span>{}</del>', _("removed:"), text)
    if kind == "more":
        return format_html('<span class="doc-more">{}</span>', text)
    return text
