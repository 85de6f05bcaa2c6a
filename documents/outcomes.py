"""Outcomes of a save: three values, matched in one place. A refusal is an exception; a stale save is not."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["Conflicted", "Moved", "MovedOn", "Outcome", "Replayed", "Saved", "Settled", "SettledBefore", "Stored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the database holds at one version."""

    version: int
    text: str
    schema: int
    by: str
    at: datetime
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The content is stored as `version`. `unchanged`: it already was, and no version was made."""

    version: int
    head_version: int
    save_id: uuid.UUID
    created: bool = False
    unchanged: bool = False
    normalised: dict[str, Any] | None = None  # top-level members which clean() changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """This very save was stored before, as `version`; its answer must have been lost. Nothing was written now."""

    version: int
    head_version: int
    save_id: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicted:
    """The save was stale. The stored content is untouched, and the refused copy is kept in a conflict."""

    conflict_id: uuid.UUID
    expected_version: int
    stored: Stored

    @property
    def head_version(self) -> int:
        """The version that was stored when the copy was refused."""
        return self.stored.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The document is no longer at the version that was on the screen. Nothing was written, nothing had to be kept."""

    expected_version: int
    stored: Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """This settlement ended the conflict, now or (`replayed`) when it was sent before."""

    conflict_id: uuid.UUID
    decision: str
    version: int
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledBefore:
    """Somebody else ended it first. Nothing was written."""

    conflict_id: uuid.UUID
    decision: str
    version: int
    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedOn:
    """The document or the refused copy is no longer what was on the screen. Nothing was written; look again."""

    stored: Stored
    changes: int


Outcome = Saved | Replayed | Conflicted
