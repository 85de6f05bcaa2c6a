"""
W3 for the queues: one worker takes jobs out of a table in which many are due and many more are finished and kept.

A job is put in, and the first one finished, by the peer itself; the others are copies of its rows made by the server, as
enqueueing a million is not what is measured. Triggers sleep while it copies.
"""

import time
from collections.abc import Mapping
from typing import ClassVar

import psycopg

from bench.filling import analysed, forget_statistics, indexes_aside
from bench.peers.queueing import QueuePeer
from bench.together import seconds_until_drained
from bench.workloads import FULL_TABLE

__all__ = ["Claims", "copies"]

PATIENCE = 60  # seconds until a worker has finished something

_COLUMNS = """
SELECT quote_ident(attname) FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = attrelid AND d.adnum = attnum
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = ''
    AND coalesce(pg_get_expr(d.adbin, d.adrelid), '') NOT LIKE 'nextval(%%'
"""
# Microseconds first: a row takes longer to copy than one, so no two copies have the same.
_KEY = "(lpad(to_hex({begin} + n), 16, '0') || substr(md5(one.{name}::text), 1, 16))::uuid"


def copies(connection: psycopg.Connection, rows: Mapping[str, str], n: int, keys: frozenset[str]) -> None:
    """
    Copy one job n times. `rows`: table → which of its rows belong to it.

    Columns in `keys` get UUIDs of their own, time first, and the same in every table.
    """
    begin = time.time_ns() // 1_000
    connection.execute("SET session_replication_role = replica")
    for table, which in rows.items():
        columns = [row[0] for row in connection.execute(_COLUMNS, [table])]
        values = [_KEY.format(begin=begin, name=name) if name in keys else f"one.{name}" for name in columns]
        with indexes_aside(connection, table):
            connection.execute(
                f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} "
                f"FROM (SELECT * FROM {table} WHERE {which}) one, generate_series(1, {n}) n"
            )
    connection.execute("RESET session_replication_role")


class Claims(QueuePeer):
    job = "message"
    DUE: ClassVar[Mapping[str, str]]  # table → which of its rows are of the job that was put in last
    SETTLED: ClassVar[Mapping[str, str]]  # which of its rows are of the only job that is finished
    KEYS: ClassVar[frozenset[str]] = frozenset()  # what tells one job from another, if the server does not number them

    def figures(self, size: dict) -> dict[str, float]:
        self.waiting = 0
        few, more, most = size["due"]
        measured = []
        self.watcher.execute("SET max_parallel_workers_per_gather = 0")  # looking on takes as little as it can
        self.enqueue(1)
        seconds_until_drained(1, self.work, lambda: self.finished() < 1, self.url)
        self._for_each_table("ALTER TABLE {} SET (autovacuum_enabled = false)")
        copies(self.watcher, self.SETTLED, size["settled"] - 1, self.KEYS)
        for level in (few, more):
            self._fill(level)
            self._analyse()
            measured.append(self._rate(size["seconds"]))
        self._fill(most)
        for table in self.tables():
            forget_statistics(self.watcher, table)
        unknown = self._rate(size["seconds"])
        self._analyse()
        self._for_each_table("ALTER TABLE {} SET (autovacuum_enabled = true)")
        measured += [self._rate(size["seconds"]), unknown]
        with psycopg.connect(self.url) as old:
            old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            old.execute("SELECT count(*) FROM bench_effect")
            measured.append(self._rate(size["snapshot"] / 3, after=size["snapshot"] * 2 / 3))
        return dict(zip(FULL_TABLE, measured, strict=True))

    def tables(self) -> list[str]:
        return list(dict.fromkeys([*self.DUE, *self.SETTLED]))

    def _for_each_table(self, statement: str) -> None:
        for table in self.tables():
            self.watcher.execute(statement.format(table))

    def _analyse(self) -> None:
        for table in self.tables():
            analysed(self.watcher, table)

    def _fill(self, level: int) -> None:
        self.enqueue(1)
        copies(self.watcher, self.DUE, level - self.waiting - 1, self.KEYS)
        self.waiting = level

    def _rate(self, seconds: float, after: float = 0.0) -> float:
        """Jobs a second between the first look that saw one finished and the last. A look takes a sixth of the time at most."""
        enough = self.waiting / 2  # or whoever is quick would be left without work
        before, begun, looks = self.finished(), time.perf_counter(), []

        def left() -> bool:
            asked = time.perf_counter()
            count = self.finished()
            if count > before and asked - begun >= after:
                looks.append((asked, count))
            time.sleep(max(0.1, 5 * (time.perf_counter() - asked)))
            if len(looks) < 2:
                return asked - begun < after + PATIENCE
            return _seconds(looks) < seconds and _jobs(looks) < enough

        seconds_until_drained(1, self.work, left, self.url)
        self.waiting -= self.finished() - before
        if len(looks) < 2 or not _jobs(looks):
            raise RuntimeError("all that was due was done before a second look, or nothing was")
        return _jobs(looks) / _seconds(looks)


def _seconds(looks: list[tuple[float, int]]) -> float:
    return looks[-1][0] - looks[0][0]


def _jobs(looks: list[tuple[float, int]]) -> int:
    return looks[-1][1] - looks[0][1]
