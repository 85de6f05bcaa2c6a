"""
Copying: many new rows by PostgreSQL's COPY, which takes a quarter of the time of an INSERT.

It knows no ON CONFLICT, so it is for rows whose keys are new ids. Nothing of it is seen by an execute wrapper: wherever
somebody looks on, it is refused, as where the server does not take it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import cursors

__all__ = ["copy", "is_possible"]

_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def is_possible(model: type[Any], connection: Any) -> bool:
    """Return whether rows of that model may be copied on that connection. Asks the server once."""
    if connection.vendor != "postgresql":
        return False
    connection.ensure_connection()
    if not cursors.nobody_looks_on(connection):
        return False
    # With policies on its rows a table takes an INSERT, but no COPY.
    ((refused,),) = cursors.rows(connection, "SELECT row_security_active(%s)", [f'"{model._meta.db_table}"'])
    return not refused


def copy(
    model: type[Any],
    connection: Any,
    names: Sequence[str],
    parts: Iterable[Sequence[Sequence[str]]],
    same: Mapping[str, str | int],
) -> None:
    """
    Store new rows, all of them or none.

    Args:
        model: a concrete model.
        connection: this thread's connection to PostgreSQL; inside or outside a transaction.
        names: the fields that each row gives a value of.
        parts: the rows, many at a time: for each of the names a list of texts as its type reads them, equally long, each
            through `escaped` unless it holds no backslash and no line's end. The server stores a part while the next is
            made.
        same: the fields that are the same for every row; the others are left to the database's defaults.

    Raises:
        django.db.Error: nothing was stored; a transaction of the caller's is broken, as by any statement that fails.
    """
    into = ", ".join(f'"{model._meta.get_field(name).column}"' for name in (*names, *same))
    sql = f'COPY "{model._meta.db_table}" ({into}) FROM STDIN'
    end = "".join(f"\t{escaped(str(value))}" for value in same.values()) + "\n"
    with cursors.copying(connection, sql) as door:
        for columns in parts:
            door.write(end.join(map("\t".join, zip(*columns, strict=True))) + end)


def escaped(text: str) -> str:
    """Return a text as COPY reads it."""
    return text.translate(_ESCAPES)
