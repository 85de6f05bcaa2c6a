"""
Reading: what is stored at the head or at one version, and what a person's next look must be told.

Content comes back as the text that was accepted; nobody parses it on the way out.
"""

from typing import Any

from django.db import models

from .errors import Gone, NotFound
from .kinds import kind_named
from .models import Conflict, Document, Revision
from .outcomes import Stored

__all__ = ["open_conflicts", "read", "revision", "stored", "text_at", "text_of", "untold"]

_FIELDS = ("version", "content", "schema", "by_name", "at", "action")


def read(kind: str, key: str) -> Stored:
    """
    Return the head of a document. Raise NotFound, or Gone where it was deleted.

    For a ModelKind a change made behind our back becomes a version first, so this may write one.
    """
    of = kind_named(kind)
    of.before_read(key)
    head = stored(kind, key)
    if head is None:
        message = f"There is no {kind} {key!r}."
        raise NotFound(message)
    if head.action == Revision.Action.DELETE:
        message = f"{kind} {key!r} was deleted by {head.by}."
        raise Gone(message, headVersion=head.version, by=head.by, at=head.at.isoformat())
    return head


def stored(kind: str, key: str, *, using: str | None = None) -> Stored | None:
    """Return the head whatever it is, a deletion too, or None. One query."""
    row = (
        Revision.objects.using(using)
        .filter(document__kind=kind, document__key=key, version=models.F("document__version"))
        .values_list(*_FIELDS)
        .first()
    )
    return _stored(row) if row else None


def revision(kind: str, key: str, version: int) -> Stored:
    """Return one version. Raise NotFound where it never was or its content was pruned."""
    kept = Revision.objects.filter(document__kind=kind, document__key=key, version=version, pruned_at=None)
    row = kept.values_list(*_FIELDS).first() if 0 < version < 2**63 else None
    if row is None:
        message = f"Version {version} of {kind} {key!r} is not kept."
        raise NotFound(message)
    return _stored(row)


def text_at(document: Document, version: int) -> str | None:
    """Return the text of one version, or None where there is none: version 0, a deletion, a pruned revision."""
    found = document.revisions.filter(version=version, pruned_at=None).values_list("content", flat=True).first()
    return found or None


def text_of(kind: str, key: str, version: int, *, using: str | None = None) -> str | None:
    """Return the same as text_at for a document that is known by its name only."""
    found = Revision.objects.using(using).filter(document__kind=kind, document__key=key, version=version)
    return found.values_list("content", flat=True).first() or None


def open_conflicts(kind: str, key: str, by_key: str) -> models.QuerySet[Conflict]:
    """Return the open conflicts of one person on one document, without the copies."""
    return (
        Conflict.objects.filter(document__kind=kind, document__key=key, by_key=by_key, settled_at=None)
        .defer("theirs")
        .order_by("-changed_at")
    )


def untold(kind: str, key: str, by_key: str) -> models.QuerySet[Conflict]:
    """Return the conflicts that somebody settled for this person and that they have not been told of."""
    return (
        Conflict.objects.filter(document__kind=kind, document__key=key, by_key=by_key, seen_at=None)
        .exclude(settled_at=None)
        .defer("theirs")
        .order_by("-settled_at")
    )


def _stored(row: tuple[Any, ...]) -> Stored:
    version, text, schema, by, at, action = row
    return Stored(version=version, text=text, schema=schema, by=by, at=at, action=action)
