"""
Saving: the one door through which content enters a document. Page, admin, restore, settlement, script: all of them.

A save names the version it was made on. Stored: `Saved`. Stored before, the answer was lost: `Replayed`. The document
moved on: `Conflicted`, and the refused copy is a row of its own, so it is safe to close the page. There is no
parameter that skips the check.

Transactions. Outside one, each save is its own. Inside the caller's, everything here, a kept conflict too,
commits or vanishes with it: return the outcome, do not raise out of the block. The HTTP views leave
ATOMIC_REQUESTS for that reason. Where the database asks to come again (serialization failure, deadlock) we do,
three times; inside a caller's transaction only the caller can, so the OperationalError goes up.
"""

import logging
from typing import Any

from django.db import IntegrityError, connections

from . import conflicts, reading
from .change import Change, cleaned, expected, normalised, save_id_of
from .database import TRIES, database, patiently
from .door import Content, alike, read_value
from .errors import Busy, DocumentsError, Gone, Invalid, NotFound, SaveIdReused, SchemaChanged
from .kinds import DocumentKind, kind_named
from .models import Revision
from .outcomes import Conflicted, Moved, Outcome, Replayed, Saved
from .people import Actor, actor
from .swapping import swap

__all__ = ["commit", "replayed", "save"]

logger = logging.getLogger("documents")


def save(
    kind: str,
    key: str,
    content: Any,
    *,
    expected_version: int,
    save_id: Any = None,
    writer: str = "",
    by: Any = None,
    actor_name: str = "",
    schema: int | None = None,
    reason: str = "",
) -> Outcome:
    """
    Store content that was made on `expected_version` (0: the document does not exist yet).

    In: any JSON value, or a `Content` from the JSON door. `save_id` names this save for its repeats; without one it
    gets a new name and a repeat is a conflict. `writer` names the session that writes: at most one conflict is open for
    each; without one the save is its own writer. `by` is a user or None; `actor_name` names a machine.

    Out: Saved, Replayed or Conflicted. Raise Invalid, Unrepresentable, TooLarge, SaveIdReused, SchemaChanged,
    NotFound, Gone, InvalidVersion, Busy: nothing was written. Permissions are the caller's matter.
    """
    of = kind_named(kind)
    who, name = actor(by, actor_name), save_id_of(save_id)
    base = expected(expected_version)
    if not key or len(key) > 200:
        raise Invalid(("/key", "a key has 1 to 200 characters"))
    if len(writer) > 64:
        raise Invalid(("/writer", "a writer's name has at most 64 characters"))
    sent = content if isinstance(content, Content) else read_value(content, of.limits)
    try:
        if schema is not None and schema != of.schema:
            message = f"This was written for schema {schema}; the site is at {of.schema}. Load the page anew."
            raise SchemaChanged(
                message,
                schema=of.schema,
            )
        kept = cleaned(of, sent)
    except DocumentsError:
        # The site may have been deployed between a save and its repeat: what was stored stays stored.
        if (before := replayed(of, key, name, sent, who)) is not None:
            return before
        raise
    change = Change(
        kind=of,
        key=key,
        expected_version=base,
        content=kept,
        sent=sent,
        save_id=name,
        writer=writer or str(name),
        actor=who,
        action=Revision.Action.SAVE,
        schema=of.schema,
        reason=reason[:500],
    )
    outcome = commit(change)
    if not isinstance(outcome, Moved):
        return outcome
    conflict = patiently(lambda: conflicts.keep(change, outcome.stored))
    logger.info(
        "save refused kind=%s key=%s expected=%s head=%s conflict=%s",
        kind,
        key,
        base,
        outcome.stored.version,
        conflict,
    )
    return Conflicted(conflict_id=conflict, expected_version=base, stored=outcome.stored)


def commit(change: Change) -> Saved | Replayed | Moved:
    """
    Write a change, or say why not. What a restore, a deletion and a settlement share with a save.

    Out: Saved, Replayed, or Moved (stale; nothing was written and nothing kept).
    Raise NotFound, Gone, SaveIdReused, Busy.
    """
    return patiently(lambda: _commit(change))


def replayed(
    kind: DocumentKind, key: str, save_id: Any, sent: Content, who: Actor, *, kept: Content | None = None
) -> Replayed | None:
    """
    Return the answer this save got when it was stored, or None. Raise SaveIdReused if the id named another save.

    `kept` is what would be stored now, where the kind has said so.
    """
    used = (
        Revision.objects.using(database())
        .filter(document__kind=kind.name, document__key=key, save_id=save_id)
        .values_list("version", "digest", "sent_digest", "by_id", "document__version")
        .first()
    )
    if used is None:
        return None
    version, digest, sent_digest, by, head = used
    ours = by in (who.pk, None)
    if not (ours and ((sent_digest or digest) == sent.digest or _says_the_same(kind, key, version, kept or sent))):
        message = f"The save id {save_id} already names version {version}, which is another save."
        raise SaveIdReused(message)
    return Replayed(version=version, head_version=head, save_id=save_id)


def _commit(change: Change) -> Saved | Replayed | Moved:
    for _ in range(TRIES):
        try:
            version = change.kind.swap(change, swap, using=database())
        except IntegrityError:
            if (before := _named_before(change)) is None:
                raise
            return before
        if version is not None:
            return _saved(change, version)
        answer = _missed(change)
        if answer is not None:
            return answer
    message = "The document moved between every two looks at it. Send the same save again."
    raise Busy(message)


def _named_before(change: Change) -> Replayed | None:
    """Say what the save id names already, where the unique index refused it. A broken transaction can't be asked."""
    if connections[database()].in_atomic_block:
        return None
    return _before(change)


def _before(change: Change) -> Replayed | None:
    return replayed(change.kind, change.key, change.save_id, change.sent, change.actor, kept=change.content)


def _says_the_same(kind: DocumentKind, key: str, version: int, content: Content) -> bool:
    """Say whether a version holds this in another spelling: a save that came as a patch and comes again whole."""
    text = reading.text_of(kind.name, key, version, using=database())
    return text is not None and content.text != "" and alike(text, content.text)


def _saved(change: Change, version: int) -> Saved:
    return Saved(
        version=version,
        head_version=version,
        save_id=change.save_id,
        created=change.expected_version == 0,
        normalised=normalised(change),
    )


def _missed(change: Change) -> Saved | Replayed | Moved | None:
    """Say why no row moved. None: it would move now, try again."""
    if before := _before(change):
        return before
    stored = reading.stored(change.kind.name, change.key, using=database())
    if stored is None:
        if change.expected_version == 0:
            return None
        message = f"There is no {change.kind.name} {change.key!r} at version {change.expected_version}."
        raise NotFound(message)
    if stored.action == Revision.Action.DELETE and not change.revive:
        message = f"{change.kind.name} {change.key!r} was deleted by {stored.by}."
        raise Gone(
            message,
            headVersion=stored.version,
            by=stored.by,
            at=stored.at.isoformat(),
        )
    return _unchanged(change, stored.version) or (
        None
        if stored.version == change.expected_version
        else Moved(expected_version=change.expected_version, stored=stored)
    )


def _unchanged(change: Change, head: int) -> Saved | None:
    """A save which says what its base or the head says already changes nothing, so it cannot be stale."""
    same = (
        Revision.objects.using(database())
        .filter(document__kind=change.kind.name, document__key=change.key, digest=change.content.digest)
        .filter(version__in=[change.expected_version, head])
        .order_by("-version")
        .values_list("version", flat=True)
        .first()
    )
    if same is None or change.deletes:
        return None
    return Saved(version=same, head_version=head, save_id=change.save_id, unchanged=True, normalised=normalised(change))
