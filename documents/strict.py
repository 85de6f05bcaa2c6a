"""
The strict parser: reads JSON and marks what may not stay, then says where the marks are.

The marks stand in the tree in place of a value. So a clean text is read at the speed of the C scanner, and only
where there is a mark does anybody look for its path.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

__all__ = ["SAFE", "Bad", "Limits", "decoder", "faults"]

SAFE = 2**53 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a kind allows."""

    max_bytes: int
    max_depth: int
    big_integers: bool = False


class Bad:
    """Stands in a parsed tree where something may not stay."""

    def __init__(self, why: str) -> None:
        self.why = why


class Twice(dict[str, Any]):
    """An object in which a key was given twice."""

    key = ""


def decoder(limits: Limits, *, twice: bool = False) -> json.JSONDecoder:
    """Return a decoder that marks bad numbers and constants, and with `twice` also keys given twice (slower)."""
    return json.JSONDecoder(
        object_pairs_hook=_pairs if twice else None,
        parse_int=partial(_integer, limits),
        parse_float=_number,
        parse_constant=_constant,
    )


def faults(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield each place that may not stay, and why. The depth was checked before."""
    if isinstance(value, dict):
        if isinstance(value, Twice):
            yield f"{path}/{_escape(value.key)}", "the key is given twice"
        for key, inner in value.items():
            if fault := _fault_of(key) if isinstance(key, str) else f"the key {key!r} is not text":
                yield path, f"in a key: {fault}"
            yield from faults(inner, f"{path}/{_escape(str(key))}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from faults(inner, f"{path}/{index}")
    elif fault := _fault_of(value):
        yield path, fault


def _fault_of(value: Any) -> str:
    if isinstance(value, str):
        return _fault_in(value)
    if isinstance(value, Bad):
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


def _constant(name: str) -> Any:
    return Bad(f"{name} is not JSON")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    twice = Twice(plain)
    names = [name for name, _ in pairs]
    twice.key = next(name for name in names if names.count(name) > 1)
    return twice


def _integer(limits: Limits, literal: str) -> Any:
    if len(literal) < 16:
        return int(literal)
    if limits.big_integers:
        return int(literal) if len(literal) < 4000 else Bad("an integer of more than 4000 digits")
    if len(literal) > 17 or abs(int(literal)) > SAFE:
        return Bad("an integer beyond 2⁵³-1 would be rounded by a browser; send it as text")
    return int(literal)


def _number(literal: str) -> Any:
    number = float(literal)
    if number in (float("inf"), float("-inf")):
        return Bad("a number too large for a browser; send it as text")
    if len(literal) > 15 and Decimal(literal) != Decimal(repr(number)):
        return Bad("a number with more digits than a browser keeps; send it as text")
    return number
