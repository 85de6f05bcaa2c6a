"""Ids as people paste them."""

from __future__ import annotations

import uuid

__all__ = ["id_in"]


def id_in(text: str) -> uuid.UUID | None:
    """Return the id written in a text, or None where it is none."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
