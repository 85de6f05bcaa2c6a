"""
The JSON door: what comes in comes back equal, on every database, or it is refused with the place named.

The text that was accepted is what is stored, byte for byte. So the order of keys, `1.0`, NFC and NFD,
U+2028 and an escaped backslash survive. Refused are: NaN and Infinity, keys given twice, lone surrogates,
NUL, numbers a browser would change while reading them, and anything nested too deep or too large.

A clean text costs the C scanner, a few searches and one pass over the containers. Only a text with something
suspicious in it is read again slowly, to say where.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from .errors import InvalidBody, TooLarge, Unrepresentable
from .strict import SAFE, Bad, Limits, decoder, faults

__all__ = ["Content", "Limits", "alike", "dump", "read_parsed", "read_text", "read_value", "value_of"]

_CONTAINERS = frozenset((dict, list))
_TEXT = frozenset((str,))
_PLAIN = frozenset((str, float, bool, type(None), int, dict, list))
_SPACED_KEY = re.compile(r'"[ \t\n\r]+:')


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Content that passed the door: the exact text, and what it says."""

    text: str
    value: Any
    digest: str
    size: int


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def dump(value: Any) -> str:
    """Return the compact JSON text of a value, as a browser's JSON.stringify would."""
    return _ENCODER.encode(value)


def read_text(text: str, limits: Limits) -> Content:
    """
    Return the content that a JSON text holds, with the text untouched.

    Raise TooLarge, Unrepresentable (with the path), or InvalidBody if it is not JSON at all.
    """
    encoded = _sized(text, limits)
    try:
        value = decoder(limits).decode(text)
    except (ValueError, RecursionError) as error:
        raise _syntax(error, limits) from error
    return _accepted(text, encoded, value, limits)


def read_parsed(text: str, value: Any, limits: Limits) -> Content:
    """Return the content for a text and the value that `members` read from it. Same refusals as read_text."""
    return _accepted(text, _sized(text, limits), value, limits)


def _accepted(text: str, encoded: bytes, value: Any, limits: Limits) -> Content:
    depth, keys, clean = _measure(value, limits.max_depth)
    if depth > limits.max_depth:
        raise _too_deep(limits)
    # As many `":` as keys, and none with a space before the colon: then no key was given twice.
    if not clean or "\\u" in text or text.count('":') != keys or _SPACED_KEY.search(text):
        _refuse_faults(text, limits)
    return Content(text=text, value=value, digest=hashlib.sha256(encoded).hexdigest(), size=len(encoded))


def read_value(value: Any, limits: Limits) -> Content:
    """Return the content for a Python value. Refuse what JSON would change: tuples, keys that are not text, Decimal."""
    try:
        text = dump(value)
    except RecursionError as error:
        raise _too_deep(limits) from error
    except (TypeError, ValueError) as error:
        raise _located(value, str(error)) from error
    if not _is_plain(value, limits.max_depth) or "\\u" in text:
        return _compared(text, value, limits)
    encoded = _sized(text, limits)
    return Content(text=text, value=value, digest=hashlib.sha256(encoded).hexdigest(), size=len(encoded))


def value_of(text: str) -> Any:
    """Return what a text says that passed the door before. Limits may have been lowered since; it is still readable."""
    return json.loads(text)


def alike(one: str, other: str) -> bool:
    """Say whether a browser reads one value from two texts: 1.0 is 1, and the order of members does not count."""
    return one == other or _as_read(one) == _as_read(other)


def _as_read(text: str) -> str:
    return json.dumps(json.loads(text, parse_float=_number_as_read), sort_keys=True)


def _number_as_read(literal: str) -> int | float:
    number = float(literal)
    return int(number) if number.is_integer() and abs(number) <= SAFE else number


def _sized(text: str, limits: Limits) -> bytes:
    """Return the text as it will be stored. Raise TooLarge, or Unrepresentable for half a character."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise _half(text) from error
    if len(encoded) > limits.max_bytes:
        raise TooLarge(len(encoded), limits.max_bytes)
    return encoded


def _half(text: str) -> InvalidBody | Unrepresentable:
    try:
        return _located(value_of(text), "a lone surrogate is half a character")
    except (ValueError, RecursionError):
        return InvalidBody("The content is not JSON.")


def _compared(text: str, value: Any, limits: Limits) -> Content:
    """Read our own text again, and see whether the value came back equal."""
    content = read_text(text, limits)
    if content.value != value:
        raise _located(value, "it would come back changed")
    return content


def _refuse_faults(text: str, limits: Limits) -> None:
    for path, why in faults(decoder(limits, twice=True).decode(text), ""):
        raise Unrepresentable(path, why)


def _measure(value: Any, max_depth: int) -> tuple[int, int, bool]:
    """Return the depth, the number of keys, and whether nothing bad was met while reading."""
    depth = keys = 0
    clean = type(value) is not Bad
    level = [value] if type(value) in _CONTAINERS else []
    while level and depth <= max_depth:
        depth += 1
        below: list[Any] = []
        for outer in level:
            if type(outer) is dict:
                keys += len(outer)
                outer = outer.values()
            kinds = set(map(type, outer))  # in C, so a long list of leaves costs one look
            if Bad in kinds:
                clean = False
            if not kinds.isdisjoint(_CONTAINERS):
                below += [inner for inner in outer if type(inner) in _CONTAINERS]
        level = below
    return depth, keys, clean


def _is_plain(value: Any, max_depth: int) -> bool:
    """Say whether JSON keeps this value as it is: exact types, text as keys, integers a browser knows, not too deep."""
    level: list[Any] = [[value]]
    depth = 0
    while level:
        below: list[Any] = []
        for outer in level:
            if type(outer) is dict:
                if not _TEXT.issuperset(map(type, outer)):
                    return False
                outer = outer.values()
            kinds = set(map(type, outer))
            if not kinds <= _PLAIN:
                return False
            if int in kinds and not all(-SAFE <= inner <= SAFE for inner in outer if type(inner) is int):
                return False
            if not kinds.isdisjoint(_CONTAINERS):
                below += [inner for inner in outer if type(inner) in _CONTAINERS]
        depth += 1
        level = below
    return depth - 1 <= max_depth


def _syntax(error: Exception, limits: Limits) -> InvalidBody | Unrepresentable:
    if isinstance(error, RecursionError):
        return _too_deep(limits)
    return InvalidBody(f"The content is not JSON: {error}")


def _too_deep(limits: Limits) -> Unrepresentable:
    return Unrepresentable("", f"nested deeper than {limits.max_depth} levels")


def _located(value: Any, otherwise: str) -> Unrepresentable:
    try:
        path, why = next(faults(value, ""), ("", otherwise))
    except RecursionError:  # a value that contains itself
        path, why = "", "nested without end"
    return Unrepresentable(path, why)
