"""The envelope of a request: an object's members, each with the exact text it was sent as."""

import json
import re
from collections.abc import Iterator
from typing import Any

from .errors import InvalidBody, Unrepresentable
from .strict import Limits, decoder

__all__ = ["members"]

_SPACE = re.compile(r"[ \t\n\r]*")


def members(text: str, limits: Limits) -> dict[str, tuple[str, Any]]:
    """
    Split a JSON object into its members: name → (the exact text of the value, the value).

    The values are checked by read_parsed, not here. Raise InvalidBody where the text is not one object with distinct
    names.
    """
    try:
        return dict(_members(text, decoder(limits)))
    except InvalidBody:
        raise
    except RecursionError as error:
        message = ""
        raise Unrepresentable(message, "nested too deep to be read") from error
    except ValueError as error:
        message = f"The body is not JSON: {error}"
        raise InvalidBody(message) from error


def _members(text: str, reader: json.JSONDecoder) -> Iterator[tuple[str, tuple[str, Any]]]:
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
        value, end = reader.raw_decode(text, start)
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
