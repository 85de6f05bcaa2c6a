"""
Conflicts: refused copies, one open row for each writer of a document.

A further stale save of the same writer replaces the copy in the row and adds 1 to `changes`; a thousand ticks
of a stale tab are one row. Another person's writer of the same name is another row.
"""

import uuid
from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models.functions import Now

from .change import Change
from .database import database
from .door import Content, alike
from .errors import NotFound
from .models import Conflict, Document
from .outcomes import Stored

__all__ = ["amend", "keep", "tell"]


def keep(change: Change, stored: Stored) -> uuid.UUID:
    """
    Write the refused copy down; return the id of its conflict.

    Inside a transaction or outside. Raise NotFound where the document was removed altogether meanwhile.
    """
    using = database()
    copy: dict[str, Any] = {
        "base_version": change.expected_version,
        "stored_version": stored.version,
        "theirs": change.content.text,
        "theirs_digest": change.content.digest,
        "size": change.content.size,
        "schema": change.schema,
        "save_id": change.save_id,
        "by_id": change.actor.pk,
        "by_name": change.actor.name,
        "changed_at": Now(),
    }
    with transaction.atomic(using=using):
        mine = Conflict.objects.using(using).filter(
            document__kind=change.kind.name,
            document__key=change.key,
            by_key=change.actor.key,
            writer=change.writer,
            settled_at=None,
        )
        if (found := _replace(mine, copy, change)) is not None:
            return found
        if (found := _settled(change, using)) is not None:
            return found
        document = Document.objects.using(using).filter(kind=change.kind.name, key=change.key).first()
        if document is None:
            message = f"{change.kind.name} {change.key!r} was removed while it was being saved."
            raise NotFound(message)
        try:
            with transaction.atomic(using=using):
                made = Conflict.objects.using(using).create(
                    document=document, by_key=change.actor.key, writer=change.writer, opened_at=Now(), **copy
                )
        except IntegrityError:  # this writer's other save was first
            if (found := _replace(mine, copy, change)) is None:
                raise
            return found
        return made.pk


def amend(conflict: Conflict, content: Content, *, save_id: uuid.UUID) -> int | None:
    """
    Replace the refused copy by what its author wrote since; return the number of copies received.

    None: it is settled already, nothing was written. The author's page calls this while the conflict is open.
    """
    rows = Conflict.objects.using(database()).filter(pk=conflict.pk, settled_at=None)
    rows.exclude(theirs_digest=content.digest).update(
        theirs=content.text,
        theirs_digest=content.digest,
        size=content.size,
        save_id=save_id,
        changed_at=Now(),
        changes=models.F("changes") + 1,
    )
    return rows.values_list("changes", flat=True).first()


def tell(conflict: Conflict) -> None:
    """Note that the author was told how the conflict ended."""
    Conflict.objects.using(database()).filter(pk=conflict.pk, seen_at=None).exclude(settled_at=None).update(
        seen_at=Now()
    )


def _settled(change: Change, using: str) -> uuid.UUID | None:
    """A repeat of a refused save that was settled meanwhile: its copy is kept there, and it is not asked about again."""
    before = Conflict.objects.using(using).filter(
        document__kind=change.kind.name, document__key=change.key, by_key=change.actor.key, save_id=change.save_id
    )
    # Sent as a patch and then whole, it may be spelled in two ways.
    copies = before.values_list("pk", "theirs")
    return next((pk for pk, theirs in copies if alike(theirs, change.content.text)), None)


def _replace(mine: models.QuerySet[Conflict], copy: dict[str, Any], change: Change) -> uuid.UUID | None:
    # The first half of the WHERE is an id, so the UPDATE waits for a settler and then looks again whether it is open.
    pk = mine.values_list("pk", flat=True).first()
    if pk is None:
        return None
    row = Conflict.objects.using(mine.db).filter(pk=pk, settled_at=None)
    # A repeat of the refused save brings nothing new: whoever is looking at the copy has seen it already.
    moved = row.exclude(save_id=change.save_id, theirs_digest=change.content.digest).update(
        **copy, changes=models.F("changes") + 1
    )
    return pk if moved or row.exists() else None
