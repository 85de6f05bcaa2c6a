"""What must be true of a document whatever happened: D1, D2, and the bookkeeping of versions, as one function."""

import hashlib
import json

from django.db.models import Count

import documents
from documents.models import Conflict, Document, Revision


def edit(token, base):
    """Content that says which edit it is and which version its author had seen."""
    return {"token": token, "base": base}


def check(*, kind="note", key="n", results=None):
    """Assert the truths; return the tokens of all revisions in order."""
    document = Document.objects.get(kind=kind, key=key)
    revisions = list(document.revisions.order_by("version"))
    versions = [one.version for one in revisions]
    assert versions == list(range(1, document.version + 1)), f"versions {versions}, head {document.version}"
    head = revisions[-1]
    assert document.digest == head.digest
    assert (document.deleted_at is None) == (head.action != "delete")
    for one in revisions:
        assert one.digest == (hashlib.sha256(one.content.encode()).hexdigest() if one.content else "")
        if one.action == "save" and one.content:
            assert json.loads(one.content)["base"] == one.version - 1, (
                "a version was replaced by a save that had not seen it"
            )
    twice = (
        Conflict.objects.filter(document=document, settled_at=None).values("by_key", "writer").annotate(n=Count("pk"))
    )
    assert all(row["n"] == 1 for row in twice)
    stored = [json.loads(one.content)["token"] if one.content else None for one in revisions]
    kept = [json.loads(one.theirs)["token"] for one in Conflict.objects.filter(document=document)]
    for name, result in (results or {}).items():
        match result:
            case documents.Saved() | documents.Replayed():
                assert result.version <= document.version, name
            case documents.Conflicted():
                assert Conflict.objects.filter(pk=result.conflict_id).exists(), name
    assert len(stored) == Revision.objects.filter(document=document).values("save_id").distinct().count()
    return stored, kept
