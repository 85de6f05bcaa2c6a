"""A change: everything one save wants to write, before the database has been asked."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from .door import Content, dump, read_value, value_of
from .errors import Invalid, InvalidVersion, VersionRequired
from .kinds import DocumentKind
from .people import Actor

__all__ = ["Change", "cleaned", "expected", "normalised", "save_id_of", "translated"]

NOTHING = Content(text="", value=None, digest="", size=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One save of one document, made on `expected_version` (0: it does not exist yet)."""

    kind: DocumentKind
    key: str
    expected_version: int
    content: Content
    sent: Content
    save_id: uuid.UUID
    writer: str
    actor: Actor
    action: str
    schema: int
    reason: str = ""
    restored_from: int | None = None
    revive: bool = False  # a restore may bring a deleted document back; a save may not

    @property
    def deletes(self) -> bool:
        """Whether this change is a deletion, which has no content."""
        return self.content is NOTHING


def expected(version: Any) -> int:
    """Return the base version of a save. Raise VersionRequired if there is none, InvalidVersion if it is no integer."""
    if version is None:
        message = "Say which version this was made on: expectedVersion (0 for a new document)."
        raise VersionRequired(message)
    if type(version) is not int or not 0 <= version < 2**63:
        message = "expectedVersion is an integer of zero or more, not a text, not a fraction."
        raise InvalidVersion(message)
    return version


def save_id_of(value: Any) -> uuid.UUID:
    """Return the UUID that names a save, a new one for None. Raise Invalid."""
    if value is None:
        return uuid.uuid4()
    if isinstance(value, uuid.UUID):
        return value
    try:
        return uuid.UUID(value)
    except (ValueError, AttributeError, TypeError) as error:
        raise Invalid(("/saveId", "a save id is a UUID")) from error


def cleaned(kind: DocumentKind, sent: Content) -> Content:
    """Return the content after the kind has seen it. Raise Invalid. The text stays as sent where nothing changed."""
    if type(kind).clean is DocumentKind.clean:
        return sent
    fresh = value_of(sent.text)  # clean() may change the value in place, and it may be the caller's
    before = dump(fresh)
    with translated():
        value = kind.clean(fresh)
    if kind.exact_text and dump(value) == before:
        return sent
    return read_value(value, kind.limits)


def normalised(change: Change) -> dict[str, Any] | None:
    """Return the top-level members which clean() changed (None: removed), or None where it changed nothing."""
    if change.content is change.sent or change.deletes:
        return None
    before, after = json.loads(change.sent.text), change.content.value
    if not isinstance(before, dict) or not isinstance(after, dict):
        return {"": after}
    names = [*after, *(name for name in before if name not in after)]
    return {
        name: after.get(name)
        for name in names
        if (name in before) != (name in after) or dump(before[name]) != dump(after[name])
    }


@contextmanager
def translated() -> Iterator[None]:
    """Turn Django's ValidationError, whose places are field names, into Invalid, whose places are JSON Pointers."""
    try:
        yield
    except ValidationError as error:
        if hasattr(error, "error_dict"):
            places = [
                ("" if field == "__all__" else f"/{field}", message)
                for field, messages in error.message_dict.items()
                for message in messages
            ]
        else:
            places = [("", message) for message in error.messages]
        raise Invalid(*places) from error
