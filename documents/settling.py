"""
Settling: a person ends a conflict. Keep what is stored, take the refused copy, or merge with a choice for each point.

A settlement is a save like any other: it names the version that was on the screen, and the copy that was on the screen
(`changes`). If either moved meanwhile nothing is written, and the page is shown again with the choices kept. Of two
settlers one wins; the other is told who. The decision is on the conflict with who, when and why, and where it changed
the content it is a revision too. Keeping what is stored makes no version: there is nothing to write.

Locks are taken in one order, document before conflict, here and in every saver.
"""

import logging
import uuid
from collections.abc import Mapping
from typing import Any

from django.db import models, transaction
from django.db.models.functions import Now

from . import reading
from .change import Change, cleaned, expected, save_id_of
from .database import database, patiently
from .door import Content, read_text, read_value, value_of
from .errors import InvalidBody, NotFound, SchemaChanged, Unresolved
from .kinds import DocumentKind, kind_named
from .merging import ABSENT, Merged, merge
from .models import Conflict, Document, Revision
from .outcomes import MovedOn, Settled, SettledBefore
from .people import Actor, actor
from .swapping import swap

__all__ = ["merged", "settle"]

logger = logging.getLogger("documents")
Decision = Conflict.Decision


class _LostError(Exception):
    """Unwinds our transaction where another settler or saver was first."""


def settle(
    conflict_id: Any,
    *,
    choice: str,
    expected_version: int,
    expected_changes: int,
    picks: Mapping[str, str] | None = None,
    content: Any = None,
    save_id: Any = None,
    by: Any = None,
    actor_name: str = "",
    reason: str = "",
) -> Settled | SettledBefore | MovedOn:
    """
    End a conflict.

    In: `choice` is "keep_stored", "take_theirs" or "merge"; `expected_version` and `expected_changes` are what the
    person saw. A merge has `picks` ("stored", "theirs" or "base" for a point's id), or the `content` the page merged.

    Out: Settled, SettledBefore or MovedOn. Raise Unresolved, NotFound, Invalid, SchemaChanged, Busy: nothing was
    written. Permissions are the caller's matter. Inside a transaction or outside.
    """
    base, name, who = expected(expected_version), save_id_of(save_id), actor(by, actor_name)
    if choice not in Decision.values:
        message = f"{choice!r} is not a choice; give one of {', '.join(Decision.values)}."
        raise InvalidBody(message)

    def attempt() -> Settled | SettledBefore | MovedOn:
        conflict = _conflict(conflict_id)
        kind_named(conflict.document.kind).before_read(conflict.document.key)
        if (answer := _before(conflict, name, base, expected_changes)) is not None:
            return answer
        change = None
        if choice != Decision.KEEP_STORED:
            change = _change(conflict, choice, base, picks, content, name, who, reason)
        try:
            with transaction.atomic(using=database()):
                version = _write(conflict, change, base)
                _close(conflict, choice, version, name, who, reason, expected_changes)
        except _LostError:
            kind_named(conflict.document.kind).before_read(conflict.document.key)
            return _before(_conflict(conflict_id), name, base, expected_changes) or _moved_on(conflict)
        return Settled(conflict_id=conflict.pk, decision=choice, version=version)

    outcome = patiently(attempt)
    logger.info("conflict settled conflict=%s choice=%s outcome=%s", conflict_id, choice, type(outcome).__name__)
    return outcome


def merged(conflict: Conflict, picks: Mapping[str, str] | None = None, *, stored: str | None) -> Merged | None:
    """Return the merge of a conflict against a stored text, or None for a kind that never merges. Raise Invalid."""
    kind = kind_named(conflict.document.kind)
    if kind.merge is None:
        return None
    base = reading.text_at(conflict.document, conflict.base_version)
    return merge(
        kind.merge,
        ABSENT if base is None else value_of(base),
        value_of(stored) if stored else kind.merge.join({}, []),
        value_of(conflict.theirs),
        picks,
    )


def _conflict(pk: Any) -> Conflict:
    found = Conflict.objects.using(database()).select_related("document").filter(pk=pk).first()
    if found is None:
        message = f"There is no conflict {pk}."
        raise NotFound(message)
    return found


def _before(
    conflict: Conflict, save_id: uuid.UUID, version: int, changes: int
) -> Settled | SettledBefore | MovedOn | None:
    """Return the answer where there is nothing left to write."""
    if conflict.settled_at is not None:
        pk, decision, version = conflict.pk, conflict.decision, conflict.settled_version or 0
        if conflict.settle_id == save_id:
            return Settled(conflict_id=pk, decision=decision, version=version, replayed=True)
        return SettledBefore(
            conflict_id=pk,
            decision=decision,
            version=version,
            by=conflict.settled_by_name,
            at=conflict.settled_at,
            reason=conflict.reason,
        )
    if (conflict.document.version, conflict.changes) != (version, changes):
        return _moved_on(conflict)
    return None


def _moved_on(conflict: Conflict) -> MovedOn:
    now = _conflict(conflict.pk)
    stored = reading.stored(now.document.kind, now.document.key, using=database())
    if stored is None:
        message = f"The document of conflict {conflict.pk} is no more."
        raise NotFound(message)
    return MovedOn(stored=stored, changes=now.changes)


def _change(
    conflict: Conflict,
    choice: str,
    version: int,
    picks: Mapping[str, str] | None,
    content: Any,
    save_id: uuid.UUID,
    who: Actor,
    reason: str,
) -> Change:
    kind = kind_named(conflict.document.kind)
    if conflict.schema != kind.schema:
        message = f"The refused copy was written for schema {conflict.schema}; the site is at {kind.schema}."
        raise SchemaChanged(
            message,
            schema=kind.schema,
        )
    sent = _content(kind, conflict, choice, version, picks, content)
    return Change(
        kind=kind,
        key=conflict.document.key,
        expected_version=version,
        content=cleaned(kind, sent),
        sent=sent,
        save_id=save_id,
        writer=conflict.writer,
        actor=who,
        action=Revision.Action.SETTLE,
        schema=kind.schema,
        reason=reason[:500],
        revive=True,  # they saw that it was deleted: the version on the screen is the deletion's
    )


def _content(
    kind: DocumentKind, conflict: Conflict, choice: str, version: int, picks: Mapping[str, str] | None, content: Any
) -> Content:
    if choice == Decision.TAKE_THEIRS:
        return read_text(conflict.theirs, kind.limits)
    if kind.merge is None:
        message = f"A {kind.name} is never merged. Keep what is stored, or take theirs."
        raise InvalidBody(message)
    if content is not None:
        return content if isinstance(content, Content) else read_value(content, kind.limits)
    result = merged(conflict, picks, stored=reading.text_at(conflict.document, version))
    if result is None or result.open:
        still = result.open if result else []
        message = f"Still to decide: {', '.join(still)}"
        raise Unresolved(message, open=still)
    return read_value(result.content, kind.limits)


def _write(conflict: Conflict, change: Change | None, version: int) -> int:
    """Write the decided content, or nothing; in either case hold the document at the version that was seen."""
    using = database()
    if change is not None:
        written = change.kind.swap(change, swap, using=using)
        if written is not None:
            return written
    # Nothing to write. An UPDATE that changes nothing takes the row lock on every database, and says if we are late.
    rows = Document.objects.using(using).filter(pk=conflict.document_id, version=version)
    if change is not None:
        rows = rows.filter(digest=change.content.digest)
    if not rows.update(version=models.F("version")):
        raise _LostError
    return version


def _close(
    conflict: Conflict, choice: str, version: int, save_id: uuid.UUID, who: Actor, reason: str, changes: int
) -> None:
    closed = (
        Conflict.objects.using(database())
        .filter(pk=conflict.pk, settled_at=None, changes=changes)
        .update(
            settled_at=Now(),
            settled_by_id=who.pk,
            settled_by_name=who.name,
            settle_id=save_id,
            settled_version=version,
            decision=choice,
            reason=reason[:500],
        )
    )
    if not closed:
        raise _LostError
