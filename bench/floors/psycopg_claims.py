"""
W3 and W4 with the driver alone: claiming from a full table, and a boot pass over interrupted runs.

Nothing here is specific to a floor but the statements: `bench.ours.claims` fills its own table the same way.
"""

import time

import psycopg

from bench.floors.schema import CLAIM, SCHEMA, SETTLE, stamp
from bench.together import seconds
from bench.work import BODY, INSERT_EFFECT, STEPS

__all__ = ["BootPass", "Claims"]

DUE = """
INSERT INTO floor_run (id, status, due_at)
SELECT gen_random_uuid(), 'pending', statement_timestamp() - interval '1 s' * (1 + random()) FROM generate_series(1, %s)
"""
SETTLED = """
INSERT INTO floor_run (id, status, fence, s1_at, s2_at, s3_at, s4_at, s5_at, settled_at)
SELECT gen_random_uuid(), 'done', 1, now(), now(), now(), now(), now(), now() FROM generate_series(1, %s)
"""
INTERRUPTED = """
INSERT INTO floor_run (id, status, fence, due_at, lease_expires_at, s1_at, s2_at, s3_at)
SELECT gen_random_uuid(), 'running', 1, now() - interval '2 min', now() - interval '1 min', now(), now(), now()
FROM generate_series(1, %s)
"""


class _Scenario:
    def __init__(self, url: str) -> None:
        self.url = url

    def setup(self) -> None:
        with psycopg.connect(self.url) as connection:
            for statement in SCHEMA:
                connection.execute(statement)

    def teardown(self) -> None:
        pass


class Claims(_Scenario):
    def figures(self, size: dict) -> dict[str, float]:
        few, many = size["due"]
        with psycopg.connect(self.url, autocommit=True) as connection:
            self._fill(connection, few, size["settled"])
            figures = {"10 k due": self._rate(connection, size["n"])}
            self._fill(connection, many, size["settled"], analyse=False)
            figures["most due, no statistics"] = self._rate(connection, size["n"])
            self._analyse(connection)
            figures["most due"] = self._rate(connection, size["n"])
            with psycopg.connect(self.url) as old:
                old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                old.execute("SELECT count(*) FROM bench_effect")
                figures["beside an old snapshot"] = self._rate_for(connection, size["snapshot"])
        return figures

    def _fill(self, connection: psycopg.Connection, due: int, settled: int, *, analyse: bool = True) -> None:
        connection.execute("DROP TABLE floor_run")
        for statement in SCHEMA[:2]:
            connection.execute(statement)
        if not analyse:
            connection.execute("ALTER TABLE floor_run SET (autovacuum_enabled = false)")
        connection.execute(SETTLED, [settled])
        connection.execute(DUE, [due])
        if analyse:
            connection.execute("VACUUM ANALYZE floor_run")

    def _analyse(self, connection: psycopg.Connection) -> None:
        connection.execute("VACUUM ANALYZE floor_run")

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
            connection.execute(SETTLED, [size["settled"]])
            connection.execute(INTERRUPTED, [size["interrupted"]])
            connection.execute("VACUUM ANALYZE floor_run")
        taken = seconds(self._pass)
        with psycopg.connect(self.url) as connection:
            left = connection.execute("SELECT count(*) FROM floor_run WHERE settled_at IS NULL").fetchone()[0]
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
