"""Flights: the place an open operation holds, so that one of a value is in flight at a time."""

from __future__ import annotations

import hashlib

__all__ = ["flight"]


def flight(kind: str, value: str) -> str | None:
    """Return the unique text of that place; None where it holds none."""
    if not value:
        return None
    text = f"{kind}\n{value}"
    # Cut off, two long values would be one place.
    return text if len(text) <= 300 else hashlib.sha256(text.encode()).hexdigest()
