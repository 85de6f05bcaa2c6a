"""The history of one document: list, one version, the difference of two, and the way back."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from documents import comparing, history, reading
from documents.conf import setting
from documents.door import value_of
from documents.errors import InvalidBody, NotFound
from documents.kinds import DocumentKind
from documents.models import Document
from documents.outcomes import Moved
from documents.views.answers import answer, stored_body
from documents.views.body import base_version, read_body
from documents.views.document import _save_id, moved, written
from documents.views.guard import READ, WRITE, endpoint

__all__ = ["diff", "restore", "revision", "revisions"]


def _list(request: HttpRequest, kind: DocumentKind, key: str) -> HttpResponse:
    before = _number(request, "before") if "before" in request.GET else None
    kind.before_read(key)
    if not Document.objects.filter(kind=kind.name, key=key).exists():  # a deleted one has a history too
        message = f"There is no {kind.name} {key!r}."
        raise NotFound(message)
    entries = history.listed(kind.name, key, before=before, limit=setting("PAGE") + 1)
    page = entries[: setting("PAGE")]
    lines = page if request.GET.get("fold") == "0" else history.folded(page)
    rest = page[-1].version if len(entries) > len(page) else None
    return answer({"revisions": [_line(line) for line in lines], "before": rest})


def _line(entry: history.Entry) -> dict[str, Any]:
    return {
        "version": entry.version,
        "firstVersion": entry.first,
        "saves": entry.saves,
        "action": entry.action,
        "by": entry.by,
        "writer": entry.writer,
        "reason": entry.reason,
        "restoredFrom": entry.restored_from,
        "at": entry.at.isoformat(),
        "since": entry.since.isoformat(),
        "bytes": entry.size,
        "schema": entry.schema,
        "pruned": entry.pruned,
    }


def _one(request: HttpRequest, kind: DocumentKind, key: str, version: str) -> HttpResponse:
    number = int(version) if version.isascii() and version.isdigit() and len(version) < 19 else 0
    return answer(stored_body(reading.revision(kind.name, key, number)), ETag=f'"{number}"')


def _diff(request: HttpRequest, kind: DocumentKind, key: str) -> HttpResponse:
    old, new = (reading.revision(kind.name, key, _number(request, name)) for name in ("from", "to"))
    before, after = (value_of(one.text) if one.text else None for one in (old, new))
    rows, more = comparing.compare(kind, None, before, after)
    places = []
    for row in (row for row in rows if row.stored != row.theirs):
        was, now = comparing.marked(row.stored, row.theirs)
        places.append({"id": row.id, "label": row.label, "from": _marks(was), "to": _marks(now)})
    return answer({"from": old.version, "to": new.version, "places": places, "more": more})


def _marks(segments: comparing.Segments) -> list[dict[str, str]]:
    return [{"mark": kind, "text": text} for kind, text in segments]


def _number(request: HttpRequest, name: str) -> int:
    value = request.GET.get(name, "")
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        message = f"{name!r} in the address is a version."
        raise InvalidBody(message, path=f"/{name}")
    return int(value)


def _restore(request: HttpRequest, kind: DocumentKind, key: str) -> HttpResponse:
    body = read_body(request, kind, known={"expectedVersion", "saveId", "writer", "version", "reason"})
    version = base_version(request, body.value("expectedVersion"))
    outcome = history.restore(
        kind.name,
        key,
        body.integer("version"),
        expected_version=version,
        save_id=_save_id(body),
        writer=body.text("writer", longest=64, default=""),
        by=request.user,
        reason=body.text("reason", longest=500, default=""),
    )
    if isinstance(outcome, Moved):
        return moved(request, version, outcome.stored)
    return written(outcome)


revisions = endpoint(get=(_list, READ))
revision = endpoint(get=(_one, READ))
diff = endpoint(get=(_diff, READ))
restore = endpoint(post=(_restore, WRITE))
