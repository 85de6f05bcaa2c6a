"""
The conflicts of one document: see both copies, write on in the refused one, settle, be told.

An author sees their own; staff with the permission `documents.settle_conflict` see all. For everybody else a conflict
does not exist. An anonymous author has no name to be known by; who knows the conflict's id is taken for them.
"""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse

from documents import conflicts, reading, settling
from documents.change import cleaned
from documents.conf import setting
from documents.errors import Invalid, NotFound
from documents.kinds import DocumentKind
from documents.merging import Point
from documents.models import Conflict
from documents.outcomes import MovedOn, Settled, SettledBefore
from documents.people import actor
from documents.views.answers import answer, raw, stored_body
from documents.views.body import base_version, read_body
from documents.views.document import _save_id
from documents.views.guard import READ, WRITE, endpoint

__all__ = ["conflict", "listing", "seen", "settle"]


def _may_settle_all(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("documents.settle_conflict"))


def _list(request: HttpRequest, kind: DocumentKind, key: str) -> HttpResponse:
    rows = Conflict.objects.filter(document__kind=kind.name, document__key=key, settled_at=None).defer("theirs")
    if not _may_settle_all(request):
        rows = rows.filter(by_key=actor(request.user).key)
        if not request.user.is_authenticated:
            rows = rows.filter(writer=request.GET.get("writer", ""))
    page = rows.order_by("-changed_at")[: setting("PAGE")]
    return answer({"conflicts": [_head(one) for one in page]})


def _head(one: Conflict) -> dict[str, Any]:
    return {
        "conflictId": str(one.pk),
        "baseVersion": one.base_version,
        "by": one.by_name,
        "writer": one.writer,
        "at": one.changed_at.isoformat(),
        "changes": one.changes,
        "bytes": one.size,
        "schema": one.schema,
        "decision": one.decision or None,
        "settledBy": one.settled_by_name or None,
        "settledAt": one.settled_at.isoformat() if one.settled_at else None,
        "reason": one.reason,
    }


def _get(request: HttpRequest, kind: DocumentKind, key: str, pk: str) -> HttpResponse:
    one = _visible(request, kind, key, pk)
    stored = reading.stored(kind.name, key)
    if stored is None:
        message = "The document is no more."
        raise NotFound(message)
    base = reading.text_at(one.document, one.base_version)
    body = {
        **_head(one),
        "base": raw(base or ""),
        "theirs": raw(one.theirs),
        "stored": stored_body(stored),
        "merges": kind.merge is not None,
        "points": _points(one, stored.text),
    }
    return answer(body, ETag=f'"{stored.version}"')


def _points(one: Conflict, stored: str) -> list[dict[str, Any]] | None:
    """Return what a merge has to decide, or None where this kind, or this content, is not merged."""
    try:
        result = settling.merged(one, stored=stored)
    except Invalid:
        return None
    return [_point(point) for point in result.points] if result else None


def _point(point: Point) -> dict[str, Any]:
    return {"id": point.id, "conflict": point.conflict, "default": point.default or None}


def _amend(request: HttpRequest, kind: DocumentKind, key: str, pk: str) -> HttpResponse:
    one = _own(request, kind, key, pk)
    body = read_body(request, kind, known={"content", "saveId"})
    changes = conflicts.amend(one, cleaned(kind, body.content()), save_id=_save_id(body))
    if changes is None:
        return _settled_before(_visible(request, kind, key, pk))
    return answer({"conflictId": str(one.pk), "changes": changes})


def _settle(request: HttpRequest, kind: DocumentKind, key: str, pk: str) -> HttpResponse:
    one = _visible(request, kind, key, pk)
    body = read_body(
        request, kind, known={"choice", "expectedVersion", "changes", "picks", "content", "saveId", "reason"}
    )
    picks = body.choices("picks")
    outcome = settling.settle(
        one.pk,
        choice=body.text("choice", longest=20),
        expected_version=base_version(request, body.value("expectedVersion")),
        expected_changes=body.integer("changes"),
        picks=picks,
        content=body.content() if body.has("content") else None,
        save_id=_save_id(body),
        by=request.user,
        reason=body.text("reason", longest=500, default=""),
    )
    match outcome:
        case Settled():
            done = {"decision": outcome.decision, "version": outcome.version, "replayed": outcome.replayed}
            return answer({"conflictId": str(one.pk), **done}, ETag=f'"{outcome.version}"')
        case SettledBefore():
            return _settled_before(_visible(request, kind, key, pk))
        case MovedOn():
            return _moved_on(outcome, picks)


def _settled_before(one: Conflict) -> HttpResponse:
    message = f"{one.settled_by_name} settled this conflict first ({one.get_decision_display()})."
    return answer({"code": "already_settled", "message": message, **_head(one), "version": one.settled_version}, 409)


def _moved_on(outcome: MovedOn, picks: dict[str, str]) -> HttpResponse:
    body = {
        "code": "moved_on",
        "message": "The document or the refused copy changed meanwhile. Look again; your choices are kept.",
        "headVersion": outcome.stored.version,
        "changes": outcome.changes,
        "stored": stored_body(outcome.stored),
        "picks": picks,
    }
    return answer(body, 409, ETag=f'"{outcome.stored.version}"')


def _seen(request: HttpRequest, kind: DocumentKind, key: str, pk: str) -> HttpResponse:
    one = _own(request, kind, key, pk)
    conflicts.tell(one)
    return answer({"conflictId": str(one.pk), "seen": one.settled_at is not None})


def _visible(request: HttpRequest, kind: DocumentKind, key: str, pk: str) -> Conflict:
    try:
        name = uuid.UUID(pk)
    except ValueError:
        name = uuid.UUID(int=0)  # no conflict has it
    rows = Conflict.objects.select_related("document").filter(pk=name, document__kind=kind.name, document__key=key)
    if not _may_settle_all(request):
        rows = rows.filter(by_key=actor(request.user).key)
    one = rows.first()
    if one is None:
        message = "There is no such conflict, or it is not yours."
        raise NotFound(message)
    return one


def _own(request: HttpRequest, kind: DocumentKind, key: str, pk: str) -> Conflict:
    one = _visible(request, kind, key, pk)
    if one.by_key != actor(request.user).key:
        message = "There is no such conflict, or it is not yours."
        raise NotFound(message)
    return one


listing = endpoint(get=(_list, READ))
conflict = endpoint(get=(_get, READ), put=(_amend, WRITE))
settle = endpoint(post=(_settle, WRITE))
seen = endpoint(post=(_seen, READ))
