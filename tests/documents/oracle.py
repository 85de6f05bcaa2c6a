"""What must be true of a document whatever happened: D1, D2, and the bookkeeping of versions; at rest and at each step."""

import hashlib
import json
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One committed state of all documents, as another session sees it, without times."""

    documents: tuple[tuple[object, ...], ...]  # key, version, digest, whether it is deleted
    revisions: tuple[tuple[object, ...], ...]  # key, version, digest, action, writer, author, restored from
    save_ids: tuple[object, ...]
    conflicts: dict[
        object, tuple[object, ...]
    ]  # by id: writer, author, base, digest, changes, decision, version, by whom

    def state(self) -> str:
        """Return a digest of the same without what is drawn by lot."""
        told = (self.documents, self.revisions, sorted(self.conflicts.values(), key=repr))
        return hashlib.sha256(repr(told).encode()).hexdigest()[:20]


def look() -> Sight:
    """Return what another session sees now."""
    documents_ = Document.objects.order_by("key").values_list("key", "version", "digest", "deleted_at")
    revisions = Revision.objects.order_by("document__key", "version").values_list(
        "save_id", "document__key", "version", "digest", "action", "writer", "by_name", "restored_from"
    )
    conflicts = Conflict.objects.values_list(
        "pk",
        "writer",
        "by_key",
        "base_version",
        "theirs_digest",
        "changes",
        "decision",
        "settled_version",
        "settled_by_name",
    )
    rows = list(revisions)
    return Sight(
        documents=tuple((*row[:-1], row[-1] is not None) for row in documents_),
        revisions=tuple(row[1:] for row in rows),
        save_ids=tuple(row[0] for row in rows),
        conflicts={row[0]: row[1:] for row in conflicts},
    )


def check_step(before: Sight, after: Sight) -> None:
    """Assert that one step only added: no revision changed or went, no refused copy went, no decision was changed."""
    assert after.revisions[: len(before.revisions)] == before.revisions, "a revision was changed or removed"
    versions = [row[1] for row in after.revisions]
    assert versions == list(range(1, len(versions) + 1)), f"versions {versions}"
    assert len(after.save_ids) == len(set(after.save_ids)), "a save id names two versions"
    heads = [row[1:3] for row in after.documents]
    assert heads == [row[1:3] for row in after.revisions[-1:]], "the head is not the last revision"
    for pk, was in before.conflicts.items():
        now = after.conflicts.get(pk)
        assert now is not None, "a refused copy was removed"
        if was[5]:
            assert was == now, "a decision, or the copy under it, was changed"
        elif now[5]:
            assert now[6] == after.documents[0][1], "it was decided on a version that was no longer the stored one"
            assert was[3:5] == now[3:5], "another copy was decided on than the one that was seen"
        assert was[3] == now[3] or now[4] > was[4], "a copy was replaced and not counted"
    opened = [row[:2] for row in after.conflicts.values() if not row[5]]
    assert len(opened) == len(set(opened)), "two conflicts of one writer are open"
