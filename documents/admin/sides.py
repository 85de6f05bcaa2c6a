"""The sides of a conflict as the page shows them: three columns, the points to decide, what a choice would store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from documents import comparing, reading, settling
from documents.admin.marks import changed
from documents.door import value_of
from documents.errors import DocumentsError
from documents.kinds import DocumentKind, kinds
from documents.merging import ORDER, Merged
from documents.models import Conflict, Revision
from documents.outcomes import Stored

__all__ = ["Line", "Sides", "looked_at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One place of the table."""

    id: str
    field: str  # the name of its radio buttons
    label: str
    base: SafeString
    stored: SafeString
    theirs: SafeString
    conflict: bool
    mergeable: bool
    pick: str
    in_base: bool
    new: bool  # changed in the stored copy since the person looked


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Everything the conflict page shows."""

    kind: DocumentKind | None
    stored: Stored
    base: Revision | None
    lines: list[Line]
    more: int
    merged: Merged | None
    fault: str  # why this conflict cannot be compared or merged

    def labels(self, ids: Iterable[str]) -> list[str]:
        """Return what the places are called on the page."""
        known = {line.id: line.label for line in self.lines}
        return [known.get(name, name) for name in ids]


def looked_at(conflict: Conflict, picks: Mapping[str, str], *, seen_version: int | None = None) -> Sides:
    """Return the page's view of a conflict, with the choices a person has made so far."""
    kind = kinds().get(conflict.document.kind)
    shown = kind or DocumentKind()  # a kind whose code is gone is still shown, leaf by leaf
    stored = reading.stored(conflict.document.kind, conflict.document.key)
    if stored is None:
        message = "the document has no head"
        raise LookupError(message)
    base = conflict.document.revisions.filter(version=conflict.base_version).first()
    texts = [base.content if base and not base.pruned_at else "", stored.text, conflict.theirs]
    fault, merged = "", None
    try:
        values = [value_of(text) if text else None for text in texts]
        rows, more = comparing.compare(shown, *values)
        merged = settling.merged(conflict, picks, stored=stored.text) if kind else None
    except DocumentsError as error:
        rows, more, fault = [], 0, str(error)
    fresh = _since(shown, conflict, stored, seen_version)
    points = {point.id: point for point in merged.points} if merged else {}
    lines = []
    for index, row in enumerate(rows):
        point = points.get(row.id)
        known = bool(texts[0])
        lines.append(
            Line(
                id=row.id,
                field=f"pick-{index}",
                label=row.label,
                base=changed(row.base, row.base),
                stored=changed(row.base if known else row.stored, row.stored),
                theirs=changed(row.base if known else row.stored, row.theirs),
                conflict=point.conflict
                if point
                else row.stored != row.theirs and row.base not in (row.stored, row.theirs),
                mergeable=point is not None,
                pick=picks.get(row.id) or (point.default if point else ""),
                in_base=row.base is not None,
                new=row.id in fresh,
            )
        )
    if merged and (ORDER in merged.open or ORDER in picks):
        lines.append(_order(conflict, picks))
    return Sides(kind=kind, stored=stored, base=base, lines=lines, more=more, merged=merged, fault=fault)


def _order(conflict: Conflict, picks: Mapping[str, str]) -> Line:
    both = changed(None, _("Both moved attributes, each in their own way."))
    return Line(
        id=ORDER,
        field="pick-order",
        label=_("Order of the attributes"),
        base=changed(None, None),
        stored=both,
        theirs=both,
        conflict=True,
        mergeable=True,
        pick=picks.get(ORDER, ""),
        in_base=False,
        new=False,
    )


def _since(kind: DocumentKind, conflict: Conflict, stored: Stored, version: int | None) -> set[str]:
    """Return the places that changed in the stored copy since the version that was on the screen."""
    if version is None or version == stored.version:
        return set()
    before = reading.text_at(conflict.document, version)
    cells: list[dict[str, Any]] = [
        {cell[0]: cell[2] for cell in kind.rows(value_of(text))} if text else {} for text in (before, stored.text)
    ]
    return {name for name in {*cells[0], *cells[1]} if cells[0].get(name) != cells[1].get(name)}
