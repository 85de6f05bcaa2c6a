"""
W3 and W4 with the driver alone: claiming from a full table, and a boot pass over interrupted runs.

Nothing here is specific to a floor but the statements: `bench.ours.claims` fills its own table the same way.
"""

import time

import psycopg

from bench.filling import UUID, analysed, forget_statistics, indexes_aside
from bench.floors.schema import CLAIM, SCHEMA, SETTLE, stamp
from bench.together import seconds
from bench.work import BODY, INSERT_EFFECT, STEPS
from bench.workloads import FULL_TABLE

__all__ = ["BootPass", "Claims"]

DUE = f"""
INSERT INTO floor_run (id, status, due_at)
SELECT {UUID}, 'pending', statement_timestamp() - interval '1 s' * (1 + random())
FROM generate_series(1, %(n)s) n
"""
SETTLED = f"""
INSERT INTO floor_run (id, status, fence, s1_at, s2_at, s3_at, s4_at, s5_at, settled_at)
SELECT {UUID}, 'done', 1, now(), now(), now(), now(), now(), now() FROM generate_series(1, %(n)s) n
"""
INTERRUPTED = f"""
INSERT INTO floor_run (id, status, fence, due_at, lease_expires_at, s1_at, s2_at, s3_at)
SELECT {UUID}, 'running', 1, now() - interval '2 min', now() - interval '1 min', now(), now(), now()
FROM generate_series(1, %(n)s) n
"""


class _Scenario:
    table = "floor_run"
    settled, due, interrupted = SETTLED, DUE, INTERRUPTED

    def __init__(self, url: str) -> None:
        self.url = url
        self.given: dict[str, object] = {}  # what the filling statements need besides n

    def setup(self) -> None:
        with psycopg.connect(self.url) as connection:
            for statement in SCHEMA:
                connection.execute(statement)

    def teardown(self) -> None:
        pass

    def fill(self, connection: psycopg.Connection, statement: str, n: int) -> None:
        with indexes_aside(connection, self.table):
            connection.execute(statement, {"n": n, **self.given})


class Claims(_Scenario):
    def figures(self, size: dict) -> dict[str, float]:
        few, more, most = size["due"]
        measured = []
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"ALTER TABLE {self.table} SET (autovacuum_enabled = false)")
            self.fill(connection, self.settled, size["settled"])
            for added in (few, more - few):
                self.fill(connection, self.due, added)
                analysed(connection, self.table)
                measured.append(self._rate(connection, size["n"]))
            self.fill(connection, self.due, most - more)
            forget_statistics(connection, self.table)
            unknown = self._rate(connection, size["n"])
            analysed(connection, self.table)
            connection.execute(f"ALTER TABLE {self.table} SET (autovacuum_enabled = true)")
            measured += [self._rate(connection, size["n"]), unknown]
            with psycopg.connect(self.url) as old:
                old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                old.execute("SELECT count(*) FROM bench_effect")
                measured.append(self._rate_for(connection, size["snapshot"]))
        return dict(zip(FULL_TABLE, measured, strict=True))

    def _one(self, connection: psycopg.Connection) -> None:
        run, fence, *_ = connection.execute(CLAIM, [1]).fetchone()
        connection.execute(SETTLE, [run, fence])

    def _rate(self, connection: psycopg.Connection, n: int) -> float:
        self._one(connection)
        return n / seconds(lambda: [self._one(connection) for _ in range(n)])

    def _rate_for(self, connection: psycopg.Connection, period: float) -> float:
        """The rate over the last third, when the dead rows that the snapshot keeps have piled up."""
        begun, counted, since = time.perf_counter(), 0, 0.0
        while (now := time.perf_counter() - begun) < period:
            self._one(connection)
            if now > period * 2 / 3:
                since = since or now
                counted += 1
        return counted / (time.perf_counter() - begun - since)


class BootPass(_Scenario):
    def figures(self, size: dict) -> dict[str, float]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            self.fill(connection, self.settled, size["settled"])
            self.fill(connection, self.interrupted, size["interrupted"])
            analysed(connection, self.table)
            taken = seconds(self._pass)
            left = connection.execute(f"SELECT count(*) FROM {self.table} WHERE settled_at IS NULL").fetchone()[0]
            if left:
                raise RuntimeError(f"{left} runs were left by the boot pass")
        return {"100 runs resumed": taken * 1e3}

    def _pass(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.cursor()
            while claimed := cursor.execute(CLAIM, [100]).fetchall():
                for run, fence, *receipts in claimed:
                    self._resume(cursor, run, fence, receipts)

    def _resume(self, cursor: psycopg.Cursor, run, fence: int, receipts: list) -> None:
        for step in range(1, STEPS + 1):
            if receipts[step - 1] is None:
                cursor.execute("BEGIN")
                cursor.execute(stamp(step), [run, fence])
                cursor.execute(INSERT_EFFECT, [str(run), step, BODY])
                cursor.execute("COMMIT")
