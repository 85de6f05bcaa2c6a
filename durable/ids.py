"""
Ids: UUIDs of version 7 (RFC 9562, section 5.7).

They sort by the time they were made, so new runs land on one side of the primary key's index. Nothing but that locality
rests on this process's clock.
"""

from __future__ import annotations

import os
import time
import uuid

__all__ = ["uuid7"]

_VERSION = 0x7 << 76
_VARIANT = 0b10 << 62
_RANDOM_A = (1 << 12) - 1
_RANDOM_B = (1 << 62) - 1


def uuid7() -> uuid.UUID:
    """Return a new id: 48 bits of milliseconds since 1970, 74 random bits from the operating system."""
    milliseconds = time.time_ns() // 1_000_000 & 0xFFFF_FFFF_FFFF
    random = int.from_bytes(os.urandom(10), "big")
    return uuid.UUID(
        int=milliseconds << 80 | _VERSION | (random >> 62 & _RANDOM_A) << 64 | _VARIANT | random & _RANDOM_B
    )
