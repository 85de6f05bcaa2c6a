"""
Posted: what `post_many` returns. Thousands of messages, each made into an instance when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload
from uuid import UUID

from .messages import Message

__all__ = ["Draft", "Drafts", "Posted"]

#: Columns that the database fills in, or leaves empty: read from the row when somebody asks for them.
_OF_THE_DATABASE = ("created_at", "updated_at", "due_at", "lease_expires_at")

if TYPE_CHECKING:
    _Messages = Sequence[Message]
else:
    _Messages = Sequence


class Draft(NamedTuple):
    """A message before it is an instance."""

    id: str
    key: str
    payload: Any
    line: str  # its ordering key, or an empty text
    ordinal: int  # its place among those of its ordering key


class Drafts:
    """Drafts that are made when they are looked at, from a list of each of their parts."""

    def __init__(self, *parts: Sequence[Any]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts[0])

    def __getitem__(self, place: int) -> Draft:
        return Draft._make(part[place] for part in self._parts)


class Posted(_Messages):
    """Messages of one topic in the order in which they were posted. Equal to a list of the same messages."""

    def __init__(self, topic: str, using: str, found: list[Draft | Message] | Drafts) -> None:
        self._topic, self._using, self._found = topic, using, found
        self._instances: dict[int, Message] = {}

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> list[Message]: ...
    def __getitem__(self, place: int | slice) -> Message | list[Message]:
        if isinstance(place, slice):
            return [self._at(number) for number in range(*place.indices(len(self)))]
        return self._at(place)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Posted | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} messages of {self._topic!r}>"

    def _at(self, place: int) -> Message:
        place = range(len(self._found))[place]
        if place not in self._instances:
            found = self._found[place]
            self._instances[place] = found if isinstance(found, Message) else self._made(found)
        return self._instances[place]

    def _made(self, draft: Draft) -> Message:
        message = Message(
            id=UUID(draft.id), topic=self._topic, key=draft.key, payload=draft.payload, ordering_key=draft.line,
            ordinal=draft.ordinal,
        )  # fmt: skip
        message._state.db, message._state.adding = self._using, False
        for name in _OF_THE_DATABASE:
            message.__dict__.pop(name, None)
        return message
