"""
The swap: one conditional UPDATE and one INSERT, together or not at all.

The UPDATE's WHERE says everything that must still be true: the base version is the stored one, the document is
not deleted, the content is another, and no revision has this save id. No row moved means one of these
was not so; nothing was written, and the caller looks which. On PostgreSQL both writes are one statement,
so a save outside a transaction is one round trip and one commit; statements.py says how it is sent.

Outside a transaction the last condition is left to the unique index: asking costs a third of the whole statement, only a
save id that is used for a second content ever meets it, and there the statement is undone as a whole. Inside a
transaction an index that says no would take the caller's work with it, so there the statement asks.

This is the only place that writes `Document.version` or inserts a `Revision`.
"""

from functools import lru_cache
from typing import Any

from django.db import connections, models, transaction
from django.db.models.functions import Now

from .change import Change
from .models import Document, Revision
from .statements import Statement, send

__all__ = ["swap"]


def swap(change: Change, *, using: str) -> int | None:
    """
    Store the change as the next version if its base is still the stored one; return that version.

    Return None where it is not: nothing was written. Inside a transaction or outside. Raise IntegrityError where the
    save id names another save of this document, and OperationalError as the database does.
    """
    one = connections[using].vendor == "postgresql"
    moved = _one_statement(change, using) if one else _two_statements(change, using)
    return change.expected_version + 1 if moved else None


def _one_statement(change: Change, using: str) -> bool:
    connection = connections[using]
    is_new = change.expected_version == 0
    statement = _birth(using) if is_new else _move(using, change.revive, connection.in_atomic_block)
    values = _revision(change)
    # A user's key may be of any field a project has thought of.
    values["by"] = _BY.get_db_prep_save(change.actor.pk, connection)
    values |= {
        "kind": change.kind.name,
        "key": change.key,
        "base": change.expected_version,
        "deletes": change.deletes,
    }
    return bool(send(connection, statement, values))


def _two_statements(change: Change, using: str) -> bool:
    with transaction.atomic(using=using):
        document = _born(change, using) if change.expected_version == 0 else _moved(change, using)
        if document is None:
            return False
        # The author's row may be gone by now; the foreign key is checked at commit, as on PostgreSQL.
        version = change.expected_version + 1
        revision = Revision(document_id=document, version=version, by_id=change.actor.pk, at=Now(), **_revision(change))
        revision.save(using=using, force_insert=True)
        return True


def _born(change: Change, using: str) -> int | None:
    document = Document(
        kind=change.kind.name,
        key=change.key,
        version=1,
        digest=change.content.digest,
        schema=change.schema,
        created_at=Now(),
        saved_at=Now(),
    )
    Document.objects.using(using).bulk_create([document], ignore_conflicts=True)
    mine = Document.objects.using(using).filter(kind=change.kind.name, key=change.key, version=1)
    pk = mine.values_list("pk", flat=True).first()
    # ignore_conflicts does not say who was first; a document that has a revision was there before us.
    return None if pk is None or Revision.objects.using(using).filter(document_id=pk).exists() else pk


def _moved(change: Change, using: str) -> int | None:
    rows = Document.objects.using(using).filter(kind=change.kind.name, key=change.key)
    used = Revision.objects.using(using).filter(document_id=models.OuterRef("pk"), save_id=change.save_id)
    still = rows.filter(~models.Exists(used), version=change.expected_version).exclude(digest=change.content.digest)
    if not change.revive:
        still = still.filter(deleted_at=None)
    moved = still.update(
        version=models.F("version") + 1,
        digest=change.content.digest,
        schema=change.schema,
        saved_at=Now(),
        deleted_at=Now() if change.deletes else None,
    )
    return rows.values_list("pk", flat=True).get() if moved else None


_COLUMNS = (
    "content",
    "digest",
    "sent_digest",
    "size",
    "schema",
    "action",
    "save_id",
    "writer",
    "by",
    "by_name",
    "reason",
    "restored_from",
)
_BY = Revision._meta.get_field("by")


def _revision(change: Change) -> dict[str, Any]:
    return {
        "content": change.content.text,
        "digest": change.content.digest,
        "sent_digest": "" if change.sent.digest == change.content.digest else change.sent.digest,
        "size": change.content.size,
        "schema": change.schema,
        "action": change.action,
        "save_id": change.save_id,
        "writer": change.writer,
        "by_name": change.actor.name,
        "reason": change.reason,
        "restored_from": change.restored_from,
    }


@lru_cache
def _birth(using: str) -> Statement:
    document, revision, columns, marks = _names()
    text = f"""
        WITH head AS (
            INSERT INTO "{document}" (kind, key, version, digest, schema, created_at, saved_at)
            VALUES (%(kind)s, %(key)s, 1, %(digest)s, %(schema)s, clock_timestamp(), clock_timestamp())
            ON CONFLICT (kind, key) DO NOTHING
            RETURNING id, version
        )
        {_insert(revision, columns, marks)}"""  # noqa: S608 - names of our own tables, values are parameters
    return Statement(text, _types(using, "kind", "key"))


@lru_cache
def _move(using: str, revive: bool, asks: bool) -> Statement:
    document, revision, columns, marks = _names()
    alive = "" if revive else "AND d.deleted_at IS NULL"
    used = f'SELECT 1 FROM "{revision}" r WHERE r.document_id = d.id AND r.save_id = %(save_id)s'  # noqa: S608 - as below
    unused = f"AND NOT EXISTS ({used})" if asks else ""
    text = f"""
        WITH head AS (
            UPDATE "{document}" d
            SET version = d.version + 1, digest = %(digest)s, schema = %(schema)s, saved_at = clock_timestamp(),
                deleted_at = CASE WHEN %(deletes)s THEN clock_timestamp() END
            WHERE d.kind = %(kind)s AND d.key = %(key)s AND d.version = %(base)s AND d.digest <> %(digest)s
                {alive} {unused}
            RETURNING d.id, d.version
        )
        {_insert(revision, columns, marks)}"""  # noqa: S608 - names of our own tables, values are parameters
    return Statement(text, {**_types(using, "kind", "key"), "base": "bigint", "deletes": "boolean"})


def _names() -> tuple[str, str, str, str]:
    revision = Revision._meta
    columns = ", ".join(f'"{revision.get_field(name).column}"' for name in _COLUMNS)  # type: ignore[union-attr]
    return Document._meta.db_table, revision.db_table, columns, ", ".join(f"%({name})s" for name in _COLUMNS)


def _insert(revision: str, columns: str, marks: str) -> str:
    # clock_timestamp(): after the row lock was won, so times of one document grow with its versions.
    return f"""INSERT INTO "{revision}" (document_id, version, at, {columns})
        SELECT head.id, head.version, clock_timestamp(), {marks} FROM head"""  # noqa: S608 - as above


def _types(using: str, *of_document: str) -> dict[str, str]:
    fields = [Document._meta.get_field(name) for name in of_document]
    fields += [Revision._meta.get_field(name) for name in _COLUMNS]
    return {field.name: field.db_type(connections[using]) or "" for field in fields}
