"""
Ids: UUIDs of version 7 (RFC 9562, section 5.7).

They sort by the time they were made, so new runs land on one side of the primary key's index. Nothing but that locality
rests on this process's clock.
"""

from __future__ import annotations

import os
import time
import uuid

__all__ = ["uuid7", "uuid7_texts"]

_VERSION = 0x7 << 76
_VARIANT = 0b10 << 62
_RANDOM_A = (1 << 12) - 1
_RANDOM_B = (1 << 62) - 1
_VARIANT_DIGIT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def uuid7() -> uuid.UUID:
    """Return a new id: 48 bits of milliseconds since 1970, 74 random bits from the operating system."""
    milliseconds = time.time_ns() // 1_000_000 & 0xFFFF_FFFF_FFFF
    random = int.from_bytes(os.urandom(10), "big")
    return uuid.UUID(
        int=milliseconds << 80 | _VERSION | (random >> 62 & _RANDOM_A) << 64 | _VARIANT | random & _RANDOM_B
    )


def uuid7_texts(number: int) -> list[str]:
    """Return so many new ids of this moment as texts, the smallest first: as random as `uuid7` makes them one by one."""
    clock = f"{time.time_ns() // 1_000_000 & 0xFFFF_FFFF_FFFF:012x}"
    head, digits, variant = f"{clock[:8]}-{clock[8:]}-7", os.urandom(10 * number).hex(), _VARIANT_DIGIT
    return sorted(
        [
            f"{head}{digits[at : at + 3]}-{variant[digits[at + 3]]}{digits[at + 4 : at + 7]}-{digits[at + 7 : at + 19]}"
            for at in range(0, 20 * number, 20)
        ]
    )
