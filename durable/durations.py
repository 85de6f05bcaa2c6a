"""Durations: seconds, or a timedelta, wherever a caller or a declaration says how long."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

__all__ = ["seconds_of"]

_LONGEST = 315_576_000.0  # ten years: every database can add it to now


def seconds_of(value: Any) -> float | None:
    """Return a duration in seconds, negative ones too; None where it is none, or longer than ten years."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds <= _LONGEST:
        return None
    return float(seconds)
