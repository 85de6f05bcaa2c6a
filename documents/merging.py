"""
Merging: three copies by attribute id, and what a person still has to decide.

Its laws, held by tests over random contents (m(base, stored, theirs) without picks):

    m(b, x, b) = x      nobody else's work is undone       m(b, b, y) = y      nor is mine
    m(b, x, x) = x      agreement is no conflict           m(b, x, y) = m(b, y, x), with the labels changed
    Every value of the result is a value of b, x or y. Deleted here and edited there is a conflict, not a deletion.
    The order of attributes is merged apart from their values. The result is validated by the kind before it is stored.

An attribute id is a JSON Pointer into the content (`/title`, `/attributes/a7`). Nothing here runs without a click.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .errors import Invalid
from .kinds import Merging

__all__ = ["ABSENT", "ORDER", "ByAttribute", "ByKey", "Merged", "Point", "merge", "merged_order", "points_of", "same"]

ORDER = "order"  # the pick for the order; no pointer is called so, each begins with "/"
PICKS = ("stored", "theirs", "base")


class Absent(Enum):
    """The value of an attribute that is not there."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One attribute that is not the same in the three copies."""

    id: str
    base: Any
    stored: Any
    theirs: Any
    conflict: bool

    @property
    def default(self) -> str:
        """The side that changed, or "" where a person must say."""
        if self.conflict:
            return ""
        return "stored" if same(self.theirs, self.base) else "theirs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A merge: the content, every point in it, and the ids that are still open (then `content` is a preview)."""

    content: Any
    points: list[Point]
    open: list[str]


class ByKey:
    """Content that is one object; each of its members is an attribute."""

    @property
    def patch(self) -> dict[str, str]:
        """What a page must know to name attributes as split() does; a shape without it takes no patch from a page."""
        return {}

    def split(self, content: Any) -> tuple[dict[str, Any], list[str]]:
        """Return the values by id, and the order of the ids. Raise Invalid where the content is no object."""
        if not isinstance(content, dict):
            raise Invalid(("", "an object is expected"))
        values = {f"/{_escaped(name)}": value for name, value in content.items()}
        return values, list(values)

    def join(self, values: dict[str, Any], order: list[str]) -> Any:
        """Return the content again."""
        return {_plain(name[1:]): values[name] for name in order}


class ByAttribute:
    """Content that is an object with a list of items that carry an id: each item is an attribute, so is each member."""

    def __init__(self, name: str, id: str = "id") -> None:  # noqa: A002 - it is the name of the member in the content
        self.name, self.id = name, id

    @property
    def patch(self) -> dict[str, str]:
        """The list whose items are attributes, and the member that names an item."""
        return {"list": self.name, "id": self.id}

    def split(self, content: Any) -> tuple[dict[str, Any], list[str]]:
        """Return the values by id, and the order of the ids. Raise Invalid where an item has no id of its own."""
        members, order = ByKey().split(content)
        place = f"/{_escaped(self.name)}"
        if place not in members:
            return members, order
        if not isinstance(members[place], list):
            raise Invalid((place, "a list is expected"))
        items: dict[str, Any] = {}
        for index, item in enumerate(members[place]):
            name = item.get(self.id) if isinstance(item, dict) else None
            if not isinstance(name, str) or f"{place}/{_escaped(name)}" in items:
                raise Invalid((f"{place}/{index}", f"{self.id!r} is missing, or given twice"))
            items[f"{place}/{_escaped(name)}"] = item
        at = order.index(place) + 1
        return {**members, place: [], **items}, [*order[:at], *items, *order[at:]]

    def join(self, values: dict[str, Any], order: list[str]) -> Any:
        """Return the content again."""
        content: dict[str, Any] = {}
        for name in order:
            first, _, item = name[1:].partition("/")
            if item:
                content.setdefault(self.name, []).append(values[name])
            elif _plain(first) == self.name:
                content.setdefault(self.name, [])
            else:
                content[_plain(first)] = values[name]
        return content


def merge(shape: Merging, base: Any, stored: Any, theirs: Any, picks: Mapping[str, str] | None = None) -> Merged:
    """
    Merge two copies that were made on one base (ABSENT: nobody knows it any more, then every difference is a conflict).

    `picks` say for an id, or for ORDER, which side a person chose. Raise Invalid where a copy cannot be split.
    """
    chosen = picks or {}
    known = base is not ABSENT
    b, b_order = shape.split(base) if known else ({}, [])
    (s, s_order), (t, t_order) = shape.split(stored), shape.split(theirs)
    points = points_of(b, s, t, base_known=known)
    values = {name: value for name, value in s.items() if name in t}  # what is the same everywhere, and more below
    unsettled = []
    for point in points:
        side = chosen.get(point.id) or point.default
        if side not in PICKS:
            unsettled.append(point.id)
            side = "stored"
        _put(values, point.id, getattr(point, side))
    order, clear = merged_order(b_order, s_order, t_order, chosen.get(ORDER, ""))
    if not clear:
        unsettled.append(ORDER)
    back = [*order, *(name for name in b_order if name in values and name not in set(order))]
    return Merged(content=shape.join(values, [name for name in back if name in values]), points=points, open=unsettled)


def points_of(
    base: Mapping[str, Any], stored: Mapping[str, Any], theirs: Mapping[str, Any], *, base_known: bool = True
) -> list[Point]:
    """Return what differs: in the stored order, then what only theirs has, then what both deleted is left out."""
    found = []
    for name in dict.fromkeys([*stored, *theirs, *base]):
        b, s, t = (copy.get(name, ABSENT) for copy in (base, stored, theirs))
        if same(s, t) and (not base_known or same(s, b)):
            continue
        conflict = not same(s, t) and (not base_known or not (same(s, b) or same(t, b)))
        found.append(Point(id=name, base=b, stored=s, theirs=t, conflict=conflict))
    return found


def same(one: Any, other: Any) -> bool:
    """Say whether two values are the same JSON: 1 is neither true nor 1.0; the order of members does not count."""
    if one is ABSENT or other is ABSENT:
        return one is other
    if type(one) is str and type(other) is str:
        return one == other
    return _canonical(one) == _canonical(other)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _put(values: dict[str, Any], name: str, value: Any) -> None:
    if value is ABSENT:
        values.pop(name, None)
    else:
        values[name] = value


def merged_order(
    base: Sequence[str], stored: Sequence[str], theirs: Sequence[str], pick: str
) -> tuple[list[str], bool]:
    """
    Return one order of all ids of both copies, and whether it is clear (False: both moved things, differently).

    `pick` is "stored" or "theirs" where a person decided, else "". What only one copy has stays behind its neighbour.
    """
    in_stored, in_theirs = set(stored), set(theirs)
    s = [name for name in stored if name in in_theirs]
    t = [name for name in theirs if name in in_stored]
    if s == t or pick == "stored":
        skeleton, clear = s, True
    elif pick == "theirs":
        skeleton, clear = t, True
    elif _moved(base, stored) != _moved(base, theirs):
        skeleton, clear = (s, True) if _moved(base, stored) else (t, True)
    else:
        skeleton, clear = s, False
    left, right = _after(skeleton, stored), _after(skeleton, theirs)
    merged: list[str] = []
    for anchor in ["", *skeleton]:
        merged += [anchor] if anchor else []
        for run in sorted([left.get(anchor, []), right.get(anchor, [])]):  # sorted: the same whoever was first
            merged += run
    return merged, clear


def _moved(base: Sequence[str], copy: Sequence[str]) -> bool:
    in_base, in_copy = set(base), set(copy)
    return [name for name in copy if name in in_base] != [name for name in base if name in in_copy]


def _after(skeleton: Sequence[str], copy: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids that only this copy has, by the common id they stand behind."""
    common, anchor = set(skeleton), ""
    runs: dict[str, list[str]] = {}
    for name in copy:
        if name in common:
            anchor = name
        else:
            runs.setdefault(anchor, []).append(name)
    return runs


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _plain(name: str) -> str:
    return name.replace("~1", "/").replace("~0", "~")
