"""
The JSON door: what comes in comes back equal, on every database, or it is refused with the place named.

The text that was accepted is what is stored, byte for byte. So the order of keys, `1.0`, NFC and NFD,
U+2028 and an escaped backslash survive. Refused are: NaN and Infinity, keys given twice, lone surrogates,
NUL, numbers a browser would change while reading them, and anything nested too deep or too large.

A clean text is decided by the C scanner, one regular expression and one pass over the containers. Only a text
with something suspicious in it is read again slowly.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .errors import InvalidBody, TooLarge, Unrepresentable

__all__ = ["Content", "Limits", "dump", "members", "read_parsed", "read_text", "read_value", "value_of"]

SAFE = 2**53 - 1
_SUSPICIOUS = re.compile(r"\\u(?:0000|[dD][89a-fA-F])|\d{16}|[\d.]{17}|\d[eE]|NaN|Infinity")
_SPACED_KEY = re.compile(r'"[ \t\n\r]+:')
_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a kind allows."""

    max_bytes: int
    max_depth: int
    big_integers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Content that passed the door: the exact text, and what it says."""

    text: str
    value: Any
    digest: str
    size: int


class _Bad:
    """Stands in a parsed tree where something may not stay."""

    def __init__(self, why: str) -> None:
        self.why = why


class _Twice(dict[str, Any]):
    """An object in which a key was given twice."""

    key = ""


def dump(value: Any) -> str:
    """Return the compact JSON text of a value, as a browser's JSON.stringify would."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_text(text: str, limits: Limits) -> Content:
    """
    Return the content that a JSON text holds, with the text untouched.

    Raise TooLarge, Unrepresentable (with the path), or InvalidBody if it is not JSON at all.
    """
    try:
        value = _FAST.decode(text)
    except (ValueError, RecursionError) as error:
        raise _syntax(error, limits) from error
    return read_parsed(text, value, limits)


def read_parsed(text: str, value: Any, limits: Limits) -> Content:
    """Return the content for a text and the value that `members` read from it. Same refusals as read_text."""
    encoded = _encode(text)
    if len(encoded) > limits.max_bytes:
        raise TooLarge(len(encoded), limits.max_bytes)
    _check(text, value, limits)
    return Content(text=text, value=value, digest=hashlib.sha256(encoded).hexdigest(), size=len(encoded))


def read_value(value: Any, limits: Limits) -> Content:
    """Return the content for a Python value. Refuse what JSON would change: tuples, keys that are not text, Decimal."""
    try:
        text = dump(value)
    except RecursionError as error:
        raise _too_deep(limits) from error
    except (TypeError, ValueError) as error:
        raise _located(value, str(error)) from error
    content = read_text(text, limits)
    if content.value != value:
        raise _located(value, "it would come back changed")
    return content


def value_of(text: str) -> Any:
    """Return what a text says that passed the door before. Limits may have been lowered since; it is still readable."""
    return json.loads(text)


def members(text: str) -> dict[str, tuple[str, Any]]:
    """
    Split a JSON object into its members: name → (the exact text of the value, the value).

    The values are not checked here. Raise InvalidBody where the text is not one object with distinct names.
    """
    try:
        return dict(_members(text))
    except InvalidBody:
        raise
    except RecursionError as error:
        message = ""
        raise Unrepresentable(message, "nested too deep to be read") from error
    except ValueError as error:
        message = f"The body is not JSON: {error}"
        raise InvalidBody(message) from error


def _members(text: str) -> Iterator[tuple[str, tuple[str, Any]]]:
    seen: set[str] = set()
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        message = "The body is not a JSON object."
        raise InvalidBody(message)
    at = _skip(text, at + 1)
    closing = text[at : at + 1] == "}"
    while not closing:
        if text[at : at + 1] != '"':
            message = f"The body is not JSON: a name in quotes is missing at {at}."
            raise InvalidBody(message)
        name, at = json.decoder.scanstring(text, at + 1, True)  # type: ignore[attr-defined]
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            message = f"The body is not JSON: a colon is missing at {at}."
            raise InvalidBody(message)
        start = _skip(text, at + 1)
        value, end = _FAST.raw_decode(text, start)
        if name in seen:
            message = f"The body names {name!r} twice."
            raise InvalidBody(message)
        seen.add(name)
        yield name, (text[start:end], value)
        at = _skip(text, end)
        closing = text[at : at + 1] == "}"
        if not closing and text[at : at + 1] != ",":
            message = f"The body is not JSON: a comma is missing at {at}."
            raise InvalidBody(message)
        at = at if closing else _skip(text, at + 1)
    if _skip(text, at + 1) != len(text):
        message = "The body goes on after its end."
        raise InvalidBody(message)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            message = f"The text has a lone surrogate at {error.start}."
            raise InvalidBody(message) from error
        raise _located(value, "a lone surrogate") from error


def _check(text: str, value: Any, limits: Limits) -> None:
    depth, keys = _measure(value, limits.max_depth)
    if depth > limits.max_depth:
        raise _too_deep(limits)
    # As many `":` as keys, and none with a space before the colon: then no key was given twice.
    if text.count('":') != keys or _SPACED_KEY.search(text) or _SUSPICIOUS.search(text):
        for path, why in _faults(_slow(limits).decode(text), ""):
            raise Unrepresentable(path, why)


def _measure(value: Any, max_depth: int) -> tuple[int, int]:
    depth = keys = 0
    level = [value] if type(value) in (dict, list) else []
    while level and depth <= max_depth:
        depth += 1
        keys += sum(len(one) for one in level if type(one) is dict)
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
    return depth, keys


def _constant(name: str) -> Any:
    return _Bad(f"{name} is not JSON")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    twice = _Twice(plain)
    names = [name for name, _ in pairs]
    twice.key = next(name for name in names if names.count(name) > 1)
    return twice


def _integer(limits: Limits, literal: str) -> Any:
    if limits.big_integers:
        return int(literal) if len(literal) < 4000 else _Bad("an integer of more than 4000 digits")
    if len(literal) > 17 or abs(int(literal)) > SAFE:
        return _Bad("an integer beyond 2⁵³-1 would be rounded by a browser; send it as text")
    return int(literal)


def _number(literal: str) -> Any:
    number = float(literal)
    if number in (float("inf"), float("-inf")):
        return _Bad("a number too large for a browser; send it as text")
    if len(literal) > 15 and Decimal(literal) != Decimal(repr(number)):
        return _Bad("a number with more digits than a browser keeps; send it as text")
    return number


def _slow(limits: Limits) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_pairs,
        parse_int=lambda literal: _integer(limits, literal),
        parse_float=_number,
        parse_constant=_constant,
    )


def _faults(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield each place that may not stay, and why. The depth was checked before."""
    if isinstance(value, dict):
        if isinstance(value, _Twice):
            yield f"{path}/{_escape(value.key)}", "the key is given twice"
        for key, inner in value.items():
            if fault := _fault_of(key) if isinstance(key, str) else f"the key {key!r} is not text":
                yield path, f"in a key: {fault}"
            yield from _faults(inner, f"{path}/{_escape(str(key))}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _faults(inner, f"{path}/{index}")
    elif fault := _fault_of(value):
        yield path, fault


def _fault_of(value: Any) -> str:
    if isinstance(value, str):
        return _fault_in(value)
    if isinstance(value, _Bad):
        return value.why
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"{value} is not JSON"
    if value is None or isinstance(value, int | float):
        return ""
    return f"a {type(value).__name__} is not JSON"


def _fault_in(text: str) -> str:
    if "\0" in text:
        return "the character NUL (U+0000) cannot be stored"
    if text.isascii():
        return ""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "a lone surrogate is half a character"
    return ""


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1").encode("utf-8", "replace").decode()


def _located(value: Any, otherwise: str) -> Unrepresentable:
    try:
        path, why = next(_faults(value, ""), ("", otherwise))
    except RecursionError:  # a value that contains itself
        path, why = "", "nested without end"
    return Unrepresentable(path, why)


def _syntax(error: Exception, limits: Limits) -> InvalidBody | Unrepresentable:
    if isinstance(error, RecursionError):
        return _too_deep(limits)
    if isinstance(error, json.JSONDecodeError):
        return InvalidBody(f"The content is not JSON: {error}")
    return Unrepresentable("", "an integer with thousands of digits")


def _too_deep(limits: Limits) -> Unrepresentable:
    return Unrepresentable("", f"nested deeper than {limits.max_depth} levels")


_FAST = json.JSONDecoder(parse_constant=_constant)
