"""
The body of a request, read by us: Django's own limit would answer HTML that names neither size nor reason.

Read to the kind's limit and a little for the envelope; what is longer is read away, so that the answer arrives.
"""

from typing import Any

from django.http import HttpRequest
from django.http.request import UnreadablePostError

from documents.door import Content, read_parsed
from documents.envelope import members
from documents.errors import InvalidBody, InvalidVersion, TooLarge, VersionRequired
from documents.kinds import DocumentKind

__all__ = ["Body", "base_version", "read_body"]

ENVELOPE = 16_384
DRAIN = 32_000_000
CHUNK = 65_536


class Body:
    """The members of a JSON object, each taken once by the type it must have."""

    def __init__(self, found: dict[str, tuple[str, Any]], kind: DocumentKind) -> None:
        self._found, self._kind = found, kind

    def has(self, name: str) -> bool:
        """Whether the member was sent."""
        return name in self._found

    def value(self, name: str) -> Any:
        """Return the member as it was sent, or None."""
        return self._found[name][1] if name in self._found else None

    def text(self, name: str, *, longest: int, default: str | None = None) -> str:
        """Return a text member. Raise InvalidBody where it is missing without a default, no text, or too long."""
        value = self._found[name][1] if name in self._found else default
        if not isinstance(value, str) or len(value) > longest or "\0" in value or not _encodable(value):
            message = f"{name!r} is missing, or is not a text of at most {longest} characters."
            raise InvalidBody(message, path=f"/{name}")
        return value

    def integer(self, name: str) -> int:
        """Return an integer member. Raise InvalidBody."""
        value = self.value(name)
        if type(value) is not int or not 0 <= value < 2**63:
            message = f"{name!r} is missing, or is not an integer of zero or more."
            raise InvalidBody(message, path=f"/{name}")
        return value

    def choices(self, name: str) -> dict[str, str]:
        """Return an object of texts, empty where it was not sent. Raise InvalidBody."""
        value = self.value(name) if self.has(name) else {}
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            message = f"{name!r} is an object of texts."
            raise InvalidBody(message, path=f"/{name}")
        return value

    def content(self, name: str = "content") -> Content:
        """Return the content, with the exact text that was sent. Raise InvalidBody, Unrepresentable, TooLarge."""
        if name not in self._found:
            message = f"{name!r} is missing."
            raise InvalidBody(message, path=f"/{name}")
        return read_parsed(*self._found[name], self._kind.limits)

    def members(self, name: str) -> dict[str, Any]:
        """Return an object of any values, each through the JSON door. Raise InvalidBody, Unrepresentable, TooLarge."""
        content = self.content(name)
        if not isinstance(content.value, dict):
            message = f"{name!r} is an object."
            raise InvalidBody(message, path=f"/{name}")
        return content.value


def read_body(request: HttpRequest, kind: DocumentKind, *, known: set[str]) -> Body:
    """Return the members of the request's JSON object. Raise InvalidBody, TooLarge, Unrepresentable."""
    if request.content_type != "application/json":
        message = "Send application/json."
        raise InvalidBody(message)
    limit = kind.limits.max_bytes + ENVELOPE
    try:
        data = request.read(limit + 1)
        if len(data) > limit:
            raise TooLarge(_rest(request, len(data)), kind.limits.max_bytes)
        text = data.decode()
    except UnicodeDecodeError as error:
        message = f"The body is not UTF-8 at byte {error.start}."
        raise InvalidBody(message) from error
    except UnreadablePostError as error:
        message = "The connection ended before the body did."
        raise InvalidBody(message) from error
    found = members(text, kind.limits)
    if unknown := sorted(set(found) - known):
        message = f"Unknown: {', '.join(unknown)}. Known: {', '.join(sorted(known))}."
        raise InvalidBody(message, path=f"/{unknown[0]}")
    return Body(found, kind)


def base_version(request: HttpRequest, version: Any) -> int:
    """Return the base version from the body, or from If-Match, its alias. Raise VersionRequired, InvalidVersion."""
    match, none_match = request.headers.get("If-Match"), request.headers.get("If-None-Match")
    tag: int | None = None
    if match is not None:
        bare = match.strip()
        if not (bare.startswith('"') and bare.endswith('"') and bare[1:-1].isascii() and bare[1:-1].isdigit()):
            message = 'If-Match names one version, as "5". A star or a list would skip the check.'
            raise InvalidVersion(message)
        tag = int(bare[1:-1]) if len(bare) < 21 else -1
    elif none_match is not None and none_match.strip() == "*":
        tag = 0
    if version is None and tag is None:
        message = "Say which version this was made on: expectedVersion (0 for a new document), or If-Match."
        raise VersionRequired(message)
    if version is not None and tag is not None and version != tag:
        message = "expectedVersion and If-Match name two versions."
        raise InvalidVersion(message)
    chosen = tag if version is None else version
    if type(chosen) is not int or not 0 <= chosen < 2**63:
        message = "expectedVersion is an integer of zero or more, not a text, not a fraction."
        raise InvalidVersion(message)
    return chosen


def _rest(request: HttpRequest, size: int) -> int:
    """Read the rest away; a server that stops reading looks like a broken network, and the page would try for ever."""
    while size < DRAIN and (chunk := request.read(CHUNK)):
        size += len(chunk)
    return size


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
