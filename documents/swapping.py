"""
The swap: one conditional UPDATE and one INSERT, together or not at all.

The UPDATE's WHERE says everything that must still be true: the base version is the stored one, the document is
not deleted, the content is another, and no revision has this save id. No row moved means one of these
was not so; nothing was written, and the caller looks which. On PostgreSQL both writes are one statement,
so a save outside a transaction is one round trip and one commit.

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
    digest = change.content.digest
    head: tuple[Any, ...]
    if change.expected_version == 0:
        sql, head = _born_sql(), (change.kind.name, change.key, digest, change.schema)
    else:
        asks = connection.in_atomic_block
        sql = _moved_sql(change.revive, asks)
        guard = (change.kind.name, change.key, change.expected_version, digest)
        head = (digest, change.schema, change.deletes, *guard, *([change.save_id] if asks else []))
    with connection.cursor() as cursor:
        cursor.execute(sql, (*head, *_prepared(change, using)))
        return bool(cursor.rowcount)


def _two_statements(change: Change, using: str) -> bool:
    with transaction.atomic(using=using):
        document = _born(change, using) if change.expected_version == 0 else _moved(change, using)
        if document is None:
            return False
        # The author's row may be gone by now; the foreign key is checked at commit, as on PostgreSQL.
        revision = Revision(document_id=document, version=change.expected_version + 1, at=Now(), **_revision(change))
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
        "by_id": change.actor.pk,
        "by_name": change.actor.name,
        "reason": change.reason,
        "restored_from": change.restored_from,
    }


def _prepared(change: Change, using: str) -> list[Any]:
    """Return the values as this database takes them: a user's key may be of any field a project has thought of."""
    values = _revision(change)
    by = Revision._meta.get_field("by")
    values["by_id"] = by.get_db_prep_save(change.actor.pk, connections[using])
    return list(values.values())


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


def _names() -> tuple[str, str, str, str]:
    revision = Revision._meta
    columns = ", ".join(f'"{revision.get_field(name).column}"' for name in _COLUMNS)  # type: ignore[union-attr]
    return Document._meta.db_table, revision.db_table, columns, ", ".join(["%s"] * len(_COLUMNS))


@lru_cache
def _born_sql() -> str:
    document, revision, columns, marks = _names()
    return f"""
        WITH head AS (
            INSERT INTO "{document}" (kind, key, version, digest, schema, created_at, saved_at)
            VALUES (%s, %s, 1, %s, %s, clock_timestamp(), clock_timestamp())
            ON CONFLICT (kind, key) DO NOTHING
            RETURNING id, version
        )
        {_insert(revision, columns, marks)}"""  # noqa: S608 - names of our own tables, values are parameters


@lru_cache
def _moved_sql(revive: bool, asks: bool) -> str:
    document, revision, columns, marks = _names()
    alive = "" if revive else "AND d.deleted_at IS NULL"
    used = f'SELECT 1 FROM "{revision}" r WHERE r.document_id = d.id AND r.save_id = %s'  # noqa: S608 - as below
    unused = f"AND NOT EXISTS ({used})" if asks else ""
    return f"""
        WITH head AS (
            UPDATE "{document}" d
            SET version = d.version + 1, digest = %s, schema = %s, saved_at = clock_timestamp(),
                deleted_at = CASE WHEN %s THEN clock_timestamp() END
            WHERE d.kind = %s AND d.key = %s AND d.version = %s AND d.digest <> %s {alive} {unused}
            RETURNING d.id, d.version
        )
        {_insert(revision, columns, marks)}"""  # noqa: S608 - names of our own tables, values are parameters


def _insert(revision: str, columns: str, marks: str) -> str:
    # clock_timestamp(): after the row lock was won, so times of one document grow with its versions.
    return f"""INSERT INTO "{revision}" (document_id, version, at, {columns})
        SELECT head.id, head.version, clock_timestamp(), {marks} FROM head"""  # noqa: S608 - as above
