"""
History: the revisions of a document as a person reads them, and ways back that go forward.

A restore is a new version with an old content, through the same door and against the version that was on the screen.
A deletion is a version without content; only a restore, or a settlement by somebody who saw it, brings a document back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from .change import NOTHING, Change, cleaned, expected, save_id_of
from .door import read_text
from .errors import InvalidVersion, SchemaChanged
from .kinds import kind_named
from .models import Revision
from .outcomes import Moved, Replayed, Saved
from .people import actor
from .reading import revision
from .saving import commit

__all__ = ["Entry", "delete", "folded", "listed", "restore"]

# Autosaves of one writer with no longer pause between them are one line of the history.
PAUSE = timedelta(minutes=10)
_LIGHT = ("version", "action", "by_name", "writer", "reason", "restored_from", "at", "size", "schema", "pruned_at")


@dataclass(slots=True, kw_only=True)
class Entry:
    """One line of the history: the newest of one writer's consecutive saves, and how many stand behind it."""

    version: int
    first: int
    action: str
    by: str
    writer: str
    reason: str
    restored_from: int | None
    at: datetime
    since: datetime
    size: int
    schema: int
    pruned: bool
    saves: int = field(default=1)


def listed(kind: str, key: str, *, before: int | None = None, limit: int) -> list[Entry]:
    """Return up to `limit` revisions, newest first, below version `before`. One query; no content is read."""
    rows = Revision.objects.filter(document__kind=kind, document__key=key)
    if before is not None:
        rows = rows.filter(version__lt=before)
    return [
        Entry(
            version=version,
            first=version,
            action=action,
            by=by,
            writer=writer,
            reason=reason,
            restored_from=restored_from,
            at=at,
            since=at,
            size=size,
            schema=schema,
            pruned=pruned_at is not None,
        )
        for version, action, by, writer, reason, restored_from, at, size, schema, pruned_at in rows.order_by(
            "-version"
        ).values_list(*_LIGHT)[:limit]
    ]


def folded(entries: Sequence[Entry]) -> list[Entry]:
    """Fold consecutive plain saves of one writer into one line each. Only the display folds; the rows stay."""
    lines: list[Entry] = []
    for entry in entries:
        last = lines[-1] if lines else None
        if (
            last is not None
            and last.action == entry.action == Revision.Action.SAVE
            and (last.writer, last.by) == (entry.writer, entry.by)
            and last.since - entry.at <= PAUSE
            and not last.reason
            and not entry.reason
        ):
            last.first, last.since, last.saves = entry.version, entry.at, last.saves + 1
        else:
            lines.append(entry)
    return lines


def restore(
    kind: str,
    key: str,
    version: int,
    *,
    expected_version: int,
    save_id: Any = None,
    writer: str = "",
    by: Any = None,
    actor_name: str = "",
    reason: str = "",
) -> Saved | Replayed | Moved:
    """
    Store an old version's content as the next version. A deleted document comes back.

    Out: Saved, Replayed, or Moved where `expected_version` is not the stored one: nothing was written.
    Raise NotFound where the old version is not kept, and what a save raises.
    """
    of, base, name = kind_named(kind), expected(expected_version), save_id_of(save_id)
    if type(version) is not int or base == 0:
        message = "A restore names a version of a document that exists, and the stored version."
        raise InvalidVersion(message)
    old = revision(kind, key, version)
    if old.schema != of.schema:
        message = f"Version {version} was written for schema {old.schema}; the site is at {of.schema}."
        raise SchemaChanged(message, schema=of.schema)
    sent = read_text(old.text, of.limits)
    return commit(
        Change(
            kind=of,
            key=key,
            expected_version=base,
            content=cleaned(of, sent),
            sent=sent,
            save_id=name,
            writer=writer or str(name),
            actor=actor(by, actor_name),
            action=Revision.Action.RESTORE,
            schema=of.schema,
            reason=reason[:500],
            restored_from=version,
            revive=True,
        )
    )


def delete(
    kind: str,
    key: str,
    *,
    expected_version: int,
    save_id: Any = None,
    writer: str = "",
    by: Any = None,
    actor_name: str = "",
    reason: str = "",
) -> Saved | Replayed | Moved:
    """
    Delete a document: the next version has no content, and every later save is answered `Gone`.

    Out: as for restore. Raise NotFound, Gone, InvalidVersion, Busy.
    """
    of, base, name = kind_named(kind), expected(expected_version), save_id_of(save_id)
    if base == 0:
        message = "A deletion names the version that is deleted; 0 is none."
        raise InvalidVersion(message)
    return commit(
        Change(
            kind=of,
            key=key,
            expected_version=base,
            content=NOTHING,
            sent=NOTHING,
            save_id=name,
            writer=writer or str(name),
            actor=actor(by, actor_name),
            action=Revision.Action.DELETE,
            schema=of.schema,
            reason=reason[:500],
        )
    )
