"""The choices of the conflict page: what may be chosen, what was chosen, and what it would store."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from documents.admin.marks import changed
from documents.admin.sides import Sides
from documents.comparing import compare
from documents.door import dump, value_of
from documents.merging import ORDER
from documents.models import Conflict

__all__ = ["choices_of", "number_in", "picks_in", "preview_of"]

SIDES = ("stored", "theirs", "base")


def choices_of(conflict: Conflict, sides: Sides) -> list[dict[str, str]]:
    """Return the lawful decisions, each with what it does."""
    author = conflict.by_name
    found = [
        {
            "value": "keep_stored",
            "label": _("Keep what is stored"),
            "help": _("No new version. The copy of %(name)s stays on this page, marked as not taken.")
            % {"name": author},
        },
        {
            "value": "take_theirs",
            "label": _("Take theirs"),
            "help": _("The copy of %(name)s becomes the next version; the stored one stays in the history.")
            % {"name": author},
        },
    ]
    if sides.merged is not None:
        found.append(
            {
                "value": "merge",
                "label": _("Merge"),
                "help": _("The sides chosen in the table become the next version; it is checked by the kind's rules."),
            }
        )
    return found


def preview_of(conflict: Conflict, sides: Sides, choice: str) -> dict[str, Any] | None:
    """Return what would be stored, as differences from what is stored now and as the whole."""
    if sides.kind is None or sides.fault:
        return None
    if choice == "merge" and sides.merged is None:
        return None
    stored = value_of(sides.stored.text) if sides.stored.text else None
    result = stored
    if choice == Conflict.Decision.TAKE_THEIRS:
        result = value_of(conflict.theirs)
    elif choice == Conflict.Decision.MERGE and sides.merged is not None:
        result = sides.merged.content
    rows, more = compare(sides.kind, stored, stored, result)
    whole = dump(result)
    return {
        "rows": [{"label": row.label, "text": changed(row.stored, row.theirs)} for row in rows],
        "more": more,
        "whole": changed(whole, whole),
        "open": sides.labels(sides.merged.open) if choice == "merge" and sides.merged else [],
        "version": sides.stored.version if choice == "keep_stored" or not rows else sides.stored.version + 1,
    }


def picks_in(request: HttpRequest) -> dict[str, str]:
    """Return the sides chosen in the table; each button's name is joined by a hidden field with the attribute's id."""
    picks = {}
    for name, side in request.POST.items():
        if name.startswith("pick-") and side in SIDES:
            picks[ORDER if name == "pick-order" else request.POST.get(f"id-{name}", "")] = str(side)
    return picks


def number_in(request: HttpRequest, name: str) -> int:
    """Return a version from the form, 0 where there is none: nothing is ever at version 0, so nothing is written."""
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
