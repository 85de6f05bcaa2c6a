"""One document: read it, save it, delete it."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified

from documents import history, patching, reading, saving
from documents.change import save_id_of
from documents.door import Content
from documents.errors import Invalid, InvalidBody
from documents.kinds import DocumentKind
from documents.models import Conflict
from documents.outcomes import Conflicted, Moved, Replayed, Saved, Stored
from documents.people import actor
from documents.views.answers import answer, stored_body
from documents.views.body import Body, base_version, read_body
from documents.views.guard import DELETE, READ, WRITE, endpoint

__all__ = ["document", "moved", "written"]

SAVE = ("expectedVersion", "saveId", "writer", "schema", "document", "reason")


def read(request: HttpRequest, kind: DocumentKind, key: str) -> HttpResponse:
    """GET: the head, this reader's open conflicts, and how their settled ones ended."""
    head = reading.read(kind.name, key)
    who = actor(request.user)
    opened = [_open_body(one) for one in reading.open_conflicts(kind.name, key, who.key)] if who.key else []
    settled = [_settled_body(one) for one in reading.untold(kind.name, key, who.key)] if who.key else []
    tag = f'"{head.version}"'
    if request.headers.get("If-None-Match") == tag and not opened and not settled:
        return HttpResponseNotModified(headers={"ETag": tag, "Cache-Control": "private, no-cache"})
    body = {
        **stored_body(head),
        "merges": kind.merge is not None,
        "patch": getattr(kind.merge, "patch", None),
        "openConflicts": opened,
        "settledConflicts": settled,
    }
    return answer(body, ETag=tag)


def save(request: HttpRequest, kind: DocumentKind, key: str) -> HttpResponse:
    """PUT: store content made on expectedVersion, or keep it in a conflict."""
    body = read_body(request, kind, known={"content", *SAVE})
    return _saved(request, kind, key, body, lambda version: body.content())


def patch(request: HttpRequest, kind: DocumentKind, key: str) -> HttpResponse:
    """PATCH: the same save, sent as the values that changed. See patching.py."""
    body = read_body(request, kind, known={"set", *SAVE})
    return _saved(request, kind, key, body, lambda version: patching.patched(kind, key, version, body.members("set")))


def _saved(
    request: HttpRequest, kind: DocumentKind, key: str, body: Body, content: Callable[[int], Content]
) -> HttpResponse:
    if body.has("document") and body.value("document") != f"{kind.name}/{key}":
        message = "The body belongs to another document than the address."
        raise InvalidBody(message, path="/document")
    version = base_version(request, body.value("expectedVersion"))
    outcome = saving.save(
        kind.name,
        key,
        content(version),
        expected_version=version,
        save_id=_save_id(body),
        writer=body.text("writer", longest=64, default=""),
        by=request.user,
        schema=body.integer("schema") if body.has("schema") else 1,
        reason=body.text("reason", longest=500, default=""),
    )
    if isinstance(outcome, Conflicted):
        return moved(request, version, outcome.stored, conflictId=str(outcome.conflict_id))
    return written(outcome)


def delete(request: HttpRequest, kind: DocumentKind, key: str) -> HttpResponse:
    """DELETE: the same body as a save without content; a stale one is refused like a save."""
    body = read_body(request, kind, known={"expectedVersion", "saveId", "writer", "reason"})
    version = base_version(request, body.value("expectedVersion"))
    outcome = history.delete(
        kind.name,
        key,
        expected_version=version,
        save_id=_save_id(body),
        writer=body.text("writer", longest=64, default=""),
        by=request.user,
        reason=body.text("reason", longest=500, default=""),
    )
    if isinstance(outcome, Moved):
        return moved(request, version, outcome.stored)
    return written(outcome)


def written(outcome: Saved | Replayed) -> HttpResponse:
    """Return the answer to a save that is stored. It never carries content: the page may have moved on."""
    body: dict[str, Any] = {
        "saveId": str(outcome.save_id),
        "savedVersion": outcome.version,
        "headVersion": outcome.head_version,
        "replayed": isinstance(outcome, Replayed),
    }
    created = False
    if isinstance(outcome, Saved):
        created = outcome.created
        if outcome.normalised is not None:
            body["normalised"] = outcome.normalised
    return answer(body, 201 if created else 200, ETag=f'"{outcome.head_version}"')


def moved(request: HttpRequest, expected: int, stored: Stored, **more: Any) -> HttpResponse:
    """Return 409, or 412 to somebody who asked with If-Match."""
    asked = "If-Match" in request.headers or request.headers.get("If-None-Match") == "*"
    body = {
        "code": "version_conflict",
        "message": f"This was made on version {expected}; version {stored.version} by {stored.by} is stored.",
        "conflictId": None,
        **more,
        "expectedVersion": expected,
        "headVersion": stored.version,
        "stored": stored_body(stored),
    }
    return answer(body, 412 if asked else 409, ETag=f'"{stored.version}"')


def _save_id(body: Body) -> Any:
    try:
        return save_id_of(body.text("saveId", longest=64))
    except Invalid as error:
        message = "'saveId' is a UUID, made by the page for each save and kept for its repeats."
        raise InvalidBody(message, path="/saveId") from error


def _open_body(conflict: Conflict) -> dict[str, Any]:
    return {
        "conflictId": str(conflict.pk),
        "writer": conflict.writer,
        "baseVersion": conflict.base_version,
        "changes": conflict.changes,
        "at": conflict.changed_at.isoformat(),
    }


def _settled_body(conflict: Conflict) -> dict[str, Any]:
    return {
        "conflictId": str(conflict.pk),
        "writer": conflict.writer,
        "saveId": str(conflict.save_id),
        "decision": conflict.decision,
        "by": conflict.settled_by_name,
        "at": conflict.settled_at.isoformat() if conflict.settled_at else None,
        "reason": conflict.reason,
        "version": conflict.settled_version,
    }


document = endpoint(get=(read, READ), put=(save, WRITE), patch=(patch, READ, WRITE), delete=(delete, DELETE))
