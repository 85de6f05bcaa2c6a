"""How the tables of W3 and W4 are filled with a million rows and more, quickly and for everybody in the same way."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

__all__ = ["UUID", "analysed", "forget_statistics", "indexes_aside"]

#: SQL: a version 7 UUID for row n, time first as everybody's are; the server's own random ones take longer than the rows.
UUID = """(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
    || '8' || substr(md5(n::text), 4, 15))::uuid"""

_ASIDE = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = %s::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
"""


@contextmanager
def indexes_aside(connection: psycopg.Connection, table: str) -> Iterator[None]:
    """Drop the indexes that no constraint needs, and make them again when the block ends."""
    aside = connection.execute(_ASIDE, [table]).fetchall()
    for name, _ in aside:
        connection.execute(f"DROP INDEX {name}")
    yield
    for _, definition in aside:
        connection.execute(definition)


def analysed(connection: psycopg.Connection, table: str) -> None:
    """Vacuum and analyse a table, and let the disk write what filling it has left, or the first claims would wait for it."""
    connection.execute(f"VACUUM ANALYZE {table}")
    os.sync()  # no checkpoint: after one every claim would log whole pages


def forget_statistics(connection: psycopg.Connection, table: str) -> None:
    """Leave the planner with what it knows of a table that was never analysed; let the disk write what is left."""
    connection.execute(f"DELETE FROM pg_statistic WHERE starelid = '{table}'::regclass")
    connection.execute(
        "UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0 "
        f"WHERE oid = '{table}'::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = '{table}'::regclass)"
    )
    os.sync()
