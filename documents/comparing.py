"""
Comparing: what a person sees of two or three copies, place by place, with the words marked that differ.

Only places that differ are shown. A mark is a kind of segment (`del`, `ins`), never a colour: the page underlines
and strikes through. Work is bounded, so a copy of several megabytes cannot hold up the page.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from .kinds import DocumentKind
from .merging import merged_order
from .rows import Cell

__all__ = ["Row", "Segments", "compare", "inline", "marked"]

SHOWN = 2_000  # characters of one text in one cell of the page
PLACES = 400  # places on one page; below Django's DATA_UPLOAD_MAX_NUMBER_FIELDS
WORK = 250_000  # pairs of words that are compared; beyond it the whole middle is marked
_WORD = re.compile(r"\s+|\w+|[^\w\s]")

Segments = list[tuple[str, str]]  # ("same" | "del" | "ins" | "more", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One place that differs. A text is None where the copy has nothing there."""

    id: str
    label: str
    base: str | None
    stored: str | None
    theirs: str | None


def compare(kind: DocumentKind, base: Any, stored: Any, theirs: Any) -> tuple[list[Row], int]:
    """
    Return the places that are not the same in all copies, and how many more there are beyond the page's limit.

    A copy is None where there is none (the base of a new document).
    """
    copies: list[dict[str, Cell]] = [
        {} if copy is None else {cell[0]: cell for cell in kind.rows(copy)} for copy in (base, stored, theirs)
    ]
    rows: list[Row] = []
    more = 0
    for name in _in_order(*copies):
        cells = [copy.get(name) for copy in copies]
        texts = [cell[2] if cell else None for cell in cells]
        if texts[0] == texts[1] == texts[2]:
            continue
        if len(rows) == PLACES:
            more += 1
            continue
        label = next(cell[1] for cell in reversed(cells) if cell)
        rows.append(Row(id=name, label=label, base=texts[0], stored=texts[1], theirs=texts[2]))
    return rows, more


def _in_order(base: dict[str, Cell], stored: dict[str, Cell], theirs: dict[str, Cell]) -> list[str]:
    """Return all places: what only one copy has stands where it stands there, not at the end."""
    order, _ = merged_order([], list(stored), list(theirs), "stored")
    order, _ = merged_order([], order, list(base), "stored")
    return order


def inline(old: str | None, new: str | None) -> Segments:
    """Return one text that shows both: what only the old one has is `del`, what only the new one has is `ins`."""
    if old is None or new is None or old == new:
        return _short([("same" if old == new else "del", old or ""), ("ins", "" if old == new else new or "")])
    before, after = _WORD.findall(old), _WORD.findall(new)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    head, tail = "".join(before[:start]), "".join(before[len(before) - end :])
    middle = _middle(before[start : len(before) - end], after[start : len(after) - end])
    return _short([("same", head), *middle, ("same", tail)])


def marked(old: str | None, new: str | None) -> tuple[Segments, Segments]:
    """Return both texts apart: the old one with its `del`, the new one with its `ins`."""
    both = inline(old, new)
    return [one for one in both if one[0] != "ins"], [one for one in both if one[0] != "del"]


def _middle(left: Sequence[str], right: Sequence[str]) -> Segments:
    if len(left) * len(right) > WORK:
        return [("del", "".join(left)), ("ins", "".join(right))]
    found: Segments = []
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(("same", "".join(left[a:b])))
        else:
            found += [("del", "".join(left[a:b])), ("ins", "".join(right[c:d]))]
    return found


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _short(segments: Segments) -> Segments:
    """Leave out empty segments, the middle of long equal ones, and whatever no longer fits in the cell."""
    kept: Segments = []
    rooms = {"same": SHOWN, "del": SHOWN // 2, "ins": SHOWN // 2}  # a long removal must not hide what was added
    segments = [one for one in segments if one[1]]
    for kind, text in segments:
        if kind == "same" and len(text) > 200 and len(segments) > 1:
            kept += [("same", text[:80]), ("more", f"… {len(text) - 160} characters …"), ("same", text[-80:])]
            rooms[kind] -= 160
        elif len(text) > (room := max(rooms[kind], 0)):
            kept += [(kind, text[:room]), ("more", f"… {len(text) - room} more characters")]
            rooms[kind] = 0
        else:
            kept.append((kind, text))
            rooms[kind] -= len(text)
    return [(kind, text) for kind, text in kept if text]
