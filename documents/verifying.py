"""
Verifying: the tables say what the code promises. For the morning after a restore from a backup.

Versions are contiguous from 1 to the document's own; the head agrees with its row; every text has the digest beside it.
"""

import hashlib
from collections.abc import Iterator

from django.db import models

from .models import Conflict, Document, Revision

__all__ = ["problems"]

BATCH = 500


def problems(*, kind: str = "", texts: bool = True) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong. Reads only; a save meanwhile may be seen half, so look again."""
    documents = Document.objects.filter(kind=kind) if kind else Document.objects.all()
    yield from _histories(documents)
    yield from _heads(documents)
    if texts:
        revisions = Revision.objects.filter(document__in=documents, pruned_at=None)
        yield from _texts(revisions.values_list("document__kind", "document__key", "version", "content", "digest"))
        conflicts = Conflict.objects.filter(document__in=documents)
        yield from _texts(conflicts.values_list("document__kind", "document__key", "pk", "theirs", "theirs_digest"))


def _histories(documents: models.QuerySet[Document]) -> Iterator[str]:
    counted = documents.annotate(
        rows=models.Count("revisions"), first=models.Min("revisions__version"), last=models.Max("revisions__version")
    )
    wrong = counted.exclude(rows=models.F("version"), first=1, last=models.F("version"))
    for one in wrong.iterator(BATCH):
        yield f"{one}: at version {one.version}, but has {one.rows} revisions from {one.first} to {one.last}."


def _heads(documents: models.QuerySet[Document]) -> Iterator[str]:
    heads = Revision.objects.filter(document__in=documents, version=models.F("document__version"))
    rows = heads.values_list(
        "document__kind", "document__key", "digest", "document__digest", "action", "document__deleted_at", "pruned_at"
    )
    for kind, key, digest, said, action, deleted_at, pruned_at in rows.iterator(BATCH):
        if digest != said:
            yield f"{kind}/{key}: the head has another digest than the document says."
        if (action == Revision.Action.DELETE) != (deleted_at is not None):
            yield f"{kind}/{key}: the head and the document do not agree whether it is deleted."
        if pruned_at is not None:
            yield f"{kind}/{key}: the content of the head was pruned."


def _texts(rows: models.QuerySet[Revision, tuple] | models.QuerySet[Conflict, tuple]) -> Iterator[str]:  # type: ignore[type-arg]
    for kind, key, name, text, digest in rows.iterator(50):
        if digest != (hashlib.sha256(text.encode()).hexdigest() if text else ""):
            yield f"{kind}/{key}: the text of {name} is not the one its digest was made of."
