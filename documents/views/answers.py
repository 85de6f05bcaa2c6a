"""Answers: JSON with a code that a browser acts on. Stored content goes out as the text it came in as, unparsed."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from documents.door import dump
from documents.errors import DocumentsError
from documents.outcomes import Stored

__all__ = ["Raw", "answer", "raw", "refusal", "stored_body", "user_tag"]


class Raw(str):
    """JSON text that goes into an answer as it is."""

    __slots__ = ()


def raw(text: str) -> Raw | None:
    """Return stored JSON for an answer, or None where there is none (a deletion)."""
    return Raw(text) if text else None


def answer(body: dict[str, Any], status: int = 200, **headers: str) -> HttpResponse:
    """Return a JSON answer. Keys of `headers` are written with underscores."""
    # backslashreplace: what we quote from a request may hold half a character; in JSON the escape is lawful.
    response = HttpResponse(
        _written(body).encode("utf-8", "backslashreplace"), content_type="application/json", status=status
    )
    response["Cache-Control"] = "private, no-cache"
    response["X-Content-Type-Options"] = "nosniff"
    for name, value in headers.items():
        response[name.replace("_", "-")] = value
    return response


def refusal(error: DocumentsError) -> HttpResponse:
    """Return the answer for a refusal."""
    headers = {"Retry_After": str(error.details["retryAfter"])} if "retryAfter" in error.details else {}
    return answer({"code": error.code, "message": str(error), **error.details}, error.status, **headers)


def stored_body(stored: Stored) -> dict[str, Any]:
    """Return what the database holds, for an answer."""
    return {
        "version": stored.version,
        "content": raw(stored.text),
        "schema": stored.schema,
        "by": stored.by,
        "at": stored.at.isoformat(),
        "deleted": not stored.text,
    }


def user_tag(request: HttpRequest) -> str:
    """Return a tag that differs for each user and says nothing about them: a page sees that somebody else logged in."""
    pk = getattr(request.user, "pk", None)
    return (
        salted_hmac("documents.user", str(pk), algorithm="sha256").hexdigest()[:16] if pk is not None else "anonymous"
    )


def _written(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{dump(name)}:{_written(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_written(inner) for inner in value) + "]"
    return dump(value)
