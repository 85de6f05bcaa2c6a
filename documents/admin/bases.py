"""
Bases: what a row looked like when an admin page showed it, as a digest for each field, signed.

A digest is enough to see what moved, and small however long the texts are. The signature binds it to one row, so a
page of row 7 cannot speak for row 8, and nobody makes one up.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.core import signing
from django.db import models

__all__ = ["digest_of", "digests", "packed", "unpacked"]

SALT = "documents.base"


def digests(row: models.Model, names: Iterable[str] | None = None) -> dict[str, str]:
    """Return a digest of each field of a row: of all its columns and many-to-many sides, or of those named."""
    options = row._meta
    fields = [*options.concrete_fields, *options.many_to_many]
    return {field.name: _digest(field, row) for field in fields if names is None or field.name in names}


def digest_of(value: Any) -> str:
    """Return a short digest of a text."""
    return hashlib.sha256(str(value).encode()).hexdigest()[:16]


def packed(found: Mapping[str, Any], row: str) -> str:
    """Return the bases of one row (or of one list) as a signed text for a hidden input."""
    return signing.dumps({"row": row, "found": found}, salt=SALT, compress=True)


def unpacked(text: str, row: str) -> dict[str, Any] | None:
    """Return what `packed` put in, or None where the text is missing, made up, or another row's."""
    try:
        base = signing.loads(text, salt=SALT)
    except signing.BadSignature:
        return None
    return base["found"] if base.get("row") == row else None


def _digest(field: Any, row: models.Model) -> str:
    if field.many_to_many:
        keys = getattr(row, field.name).order_by("pk").values_list("pk", flat=True) if row.pk else []
        return digest_of([str(key) for key in keys])
    value = field.value_from_object(row)
    if value is None:
        return digest_of(None)
    if isinstance(field, models.JSONField):
        return digest_of(json.dumps(value, sort_keys=True, default=str))
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return digest_of(value.astimezone(dt.UTC).isoformat())
    # A browser posts a line break as two characters; the same text is the same text.
    return digest_of("=" + field.value_to_string(row).replace("\r\n", "\n"))
