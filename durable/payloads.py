"""
Payloads: what comes out of the database equal to what went in, or is refused at the door with the place named.

The same answer on every database. JSON in PostgreSQL knows no NaN, no NUL and no lone surrogate; it writes a large float
as an integer; and a tuple, a Decimal or a number as a key would come back as something else.
"""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["BadPayload", "canonical", "check", "check_name", "passes"]

_SAFE = 2**53 - 1  # the largest integer that every JSON reader keeps
_DEEPEST = 100


class BadPayload(ValueError):
    """A value cannot be kept as JSON and read back equal. The message begins with its place."""


def check(payload: Any, place: str = "payload") -> None:
    """
    Return if the payload comes back equal from any database.

    Raises:
        BadPayload: naming the first value that would not, with its path: payload["items"][3].
    """
    if not passes(payload):
        _check(payload, place, 0)


def check_name(text: Any, what: str, longest: int) -> None:
    """
    Return if the text can be a name or a key: of 1 to so many characters, and the same on any database.

    Raises:
        ValueError: beginning with what it should be.
    """
    if not isinstance(text, str) or not 0 < len(text) <= longest or "\x00" in text:
        message = f"{what} is a text of 1 to {longest} characters, not {text!r:.120}"
        raise ValueError(message)
    check(text, what)


def canonical(payload: Any) -> str:
    """Return text that is the same for equal payloads, and for no others: 1, 1.0 and True differ."""
    return json.dumps(payload, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def passes(value: Any, depth: int = 0) -> bool:
    """Return True only if `check` would find nothing. Quick, as it names no place; where it says False, ask `check`."""
    kind = type(value)
    if kind is str:
        return _is_whole(value)
    if kind is int or kind is float:
        return bool(-_SAFE <= value <= _SAFE)
    if kind is dict:
        for name, part in value.items():
            if type(name) is not str or not _is_whole(name):
                return False
            # An integer is most of what is sent: looked at here, it costs no call.
            if not (-_SAFE <= part <= _SAFE if type(part) is int else passes(part, depth + 1)):
                return False
        return depth < _DEEPEST
    if kind is list:
        return depth < _DEEPEST and all(passes(part, depth + 1) for part in value)
    return value is None or kind is bool


def _is_whole(text: str) -> bool:
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check(value: Any, place: str, depth: int) -> None:
    if depth > _DEEPEST:
        _refuse(place, f"is nested more than {_DEEPEST} deep, or contains itself")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(value, place)
    elif isinstance(value, int | float):
        _check_number(value, place)
    elif isinstance(value, dict):
        _check_names(value, place)
        for name, part in value.items():
            _check(part, f"{place}[{name!r:.80}]", depth + 1)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _check(part, f"{place}[{number}]", depth + 1)
    else:
        _refuse(place, f"is a {type(value).__name__}, which JSON does not have; {_advice(value)}")


def _check_number(value: float, place: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        _refuse(place, f"is {value!r}, which JSON does not have")
    if abs(value) > _SAFE:
        why = "comes back as an integer" if isinstance(value, float) else "many JSON readers round (beyond 2^53 - 1)"
        _refuse(place, f"is {value!r:.40}, which {why}; send it as text")


def _check_names(value: dict[Any, Any], place: str) -> None:
    for name in value:
        if not isinstance(name, str):
            _refuse(place, f"has the key {name!r:.80}, and would come back with a text instead")
        _check_text(name, f"{place}, key {name!r:.80}")


def _check_text(text: str, place: str) -> None:
    if "\x00" in text:
        _refuse(place, f"has a NUL character at {text.index(chr(0))}, which PostgreSQL cannot store")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        _refuse(place, f"has half a character (a lone surrogate) at {error.start}, which cannot be stored")


def _advice(value: Any) -> str:
    if isinstance(value, tuple):
        return "make it a list"
    return "send a text of it and parse it in the handler"


def _refuse(place: str, why: str) -> None:
    message = f"{place} {why}"
    raise BadPayload(message)
