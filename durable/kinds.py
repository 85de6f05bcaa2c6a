"""
Kinds: which runs this code knows, and which tables hold runs that it does not.

A job class is a kind, and its label is the kind's name: `accounts.accountdeletion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError, ProgrammingError, connections, router

from .run import Run, RunQuerySet

__all__ = [
    "UNUSABLE",
    "UnknownKind",
    "alias_of",
    "chosen",
    "find",
    "name_of",
    "orphans",
    "registered",
    "rows_of",
    "what_is_unusable",
]

#: Columns that together no table but a run's has.
_MARKS = {"fence", "lease_expires_at", "due_at", "settled_at", "failures", "status", "last_error"}


class UnknownKind(LookupError):
    """A kind was named that this code does not have."""


def registered() -> list[type[Any]]:
    """Return every concrete run model of the project, by name."""
    return sorted((model for model in apps.get_models() if issubclass(model, Run)), key=name_of)


def name_of(model: type[Any]) -> str:
    """Return the kind's name."""
    return str(model._meta.label_lower)


def alias_of(model: type[Any]) -> str:
    """Return the database alias that kind's runs are written to."""
    return router.db_for_write(model)


def rows_of(model: type[Any]) -> RunQuerySet:
    """Return every run of that kind, whatever managers the class has of its own."""
    return RunQuerySet(model, using=alias_of(model))


def find(name: str) -> type[Any]:
    """
    Return the kind of that name: its label, or the model's name alone where only one kind has it. Case does not matter.

    Raises:
        UnknownKind: naming the kinds there are.
    """
    wanted = name.lower()
    found = [model for model in registered() if wanted in (name_of(model), model._meta.model_name)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(name_of(model) for model in registered()) or "none: no Job subclass is in an installed app"
    said = f"{name!r} is ambiguous" if found else f"there is no kind {name!r}"
    message = f"{said}; kinds: {known}"
    raise UnknownKind(message)


def chosen(names: Sequence[str]) -> tuple[list[type[Any]], dict[type[Any], frozenset[str]]]:
    """
    Return the kinds of those names, and of which of them only some lanes were named: a pass, a topic, a kind of operation.

    Raises:
        UnknownKind: naming the kinds there are.
    """
    models: list[type[Any]] = []
    lanes: dict[type[Any], frozenset[str]] = {}
    for name in names:
        try:
            model = find(name)
        except UnknownKind:
            model = _model_of_lane(name)
            lanes[model] = lanes.get(model, frozenset()) | {name}
        models.append(model)
    whole = [model for name, model in zip(names, models, strict=True) if name not in lanes.get(model, ())]
    return list(dict.fromkeys(models)), {model: some for model, some in lanes.items() if model not in whole}


def _model_of_lane(name: str) -> type[Any]:
    having = [model for model in registered() if any(lane.name == name for lane in model.lanes(alias_of(model)))]
    if len(having) == 1:
        return having[0]
    find(name)  # raises, with the kinds there are
    raise AssertionError  # pragma: no cover


def orphans(using: str) -> list[tuple[str, int]]:
    """
    Return (table, open runs) for each table of runs without a class: code that is gone, or an app not installed here.

    Their rows are never claimed and never dropped. Each open one gets a `last_error` that says so.
    """
    connection = connections[using]
    known = {model._meta.db_table for model in registered()}
    quote = connection.ops.quote_name
    found = []
    with connection.cursor() as cursor:
        for table in _tables_of_runs(connection, cursor):
            if table in known:
                continue
            # Names of tables and columns come from the database's own catalogue, and are quoted.
            cursor.execute(
                f"UPDATE {quote(table)} SET last_error = %s WHERE settled_at IS NULL AND due_at IS NOT NULL",  # noqa: S608
                [f"nobody will run this: no class of this code has the table {table} (kind unknown)"],
            )
            if cursor.rowcount:
                found.append((table, cursor.rowcount))
    return found


def _tables_of_runs(connection: Any, cursor: Any) -> list[str]:
    if connection.vendor != "postgresql":
        names = connection.introspection.table_names(cursor)
        return [name for name in names if {c.name for c in _describe(connection, cursor, name)} >= _MARKS]
    cursor.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
        " WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND NOT a.attisdropped AND a.attname = ANY(%s)"
        " GROUP BY c.relname HAVING count(*) = %s ORDER BY c.relname",
        [sorted(_MARKS), len(_MARKS)],
    )
    return [row[0] for row in cursor.fetchall()]


def _describe(connection: Any, cursor: Any, table: str) -> list[Any]:
    return list(connection.introspection.get_table_description(cursor, table))


#: What the database layer raises when there is no database, no table, or no right to it.
UNUSABLE = (OperationalError, ProgrammingError, InterfaceError, ImproperlyConfigured)


def what_is_unusable(error: BaseException) -> str:
    """Return one sentence on a database that cannot be used, with what to do."""
    said = str(error).strip().partition("\n")[0]
    if isinstance(error, ProgrammingError) or "no such table" in said or "no such column" in said:
        return f"The database is not migrated: {said}. Run `manage.py migrate` first."
    return f"The database cannot be used: {said}. Check DATABASES and that the server is running."
