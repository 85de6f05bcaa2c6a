"""
W1, W9 and W10 with the driver alone: a loop around one connection, with the guarantees of a run and nothing else.

Per step: BEGIN, the fenced stamp, the effect, COMMIT. `OneStatement` sends stamp and effect as one statement; `InThreads`
has a thread and a connection for each run in flight.
"""

import time
from collections.abc import Callable

import psycopg

from bench.flights import in_threads
from bench.floors.schema import SCHEMA, START, stamp, stamp_with_effect
from bench.together import Gate, seconds_together
from bench.work import BODY, INSERT_EFFECT, STEPS, new_key

__all__ = ["InThreads", "OneStatement", "Steps"]

STAMPS = [(step, stamp(step)) for step in range(1, STEPS + 1)]
STAMPS_WITH_EFFECT = [(step, stamp_with_effect(step)) for step in range(1, STEPS + 1)]


class LostLease(Exception):
    """The fenced stamp matched no row: somebody else owns the run."""


def one_run(connection: psycopg.Connection) -> None:
    cursor = connection.cursor()
    run, fence = new_key(), 1
    cursor.execute(START, [run])
    for step, statement in STAMPS:
        cursor.execute("BEGIN")
        cursor.execute(statement, [run, fence])
        if cursor.rowcount != 1:
            cursor.execute("ROLLBACK")
            raise LostLease(run)
        cursor.execute(INSERT_EFFECT, [str(run), step, BODY])
        cursor.execute("COMMIT")


def one_run_in_single_statements(connection: psycopg.Connection) -> None:
    cursor = connection.cursor()
    run, fence = new_key(), 1
    cursor.execute(START, [run])
    for step, statement in STAMPS_WITH_EFFECT:
        cursor.execute(statement, [run, fence, step, BODY])
        if cursor.rowcount != 1:
            raise LostLease(run)


def _loop(place: int, gate: Gate, url: str, n: int, one: Callable[[psycopg.Connection], None]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        gate.wait()
        for _ in range(n):
            one(connection)


class Steps:
    one = staticmethod(one_run)

    def __init__(self, url: str) -> None:
        self.url = url

    def setup(self) -> None:
        with psycopg.connect(self.url) as connection:
            for statement in SCHEMA:
                connection.execute(statement)

    def run(self, n: int, processes: int) -> dict[str, float]:
        return {"done": seconds_together(processes, _loop, self.url, n // processes, self.one)}

    def done(self) -> int:
        with psycopg.connect(self.url) as connection:
            return connection.execute("SELECT count(*) FROM floor_run WHERE status = 'done'").fetchone()[0]

    def latency(self, n: int) -> list[float]:
        taken = []
        with psycopg.connect(self.url, autocommit=True) as connection:
            for _ in range(n):
                begun = time.perf_counter()
                self.one(connection)
                taken.append(time.perf_counter() - begun)
        return taken

    def teardown(self) -> None:
        pass


class OneStatement(Steps):
    one = staticmethod(one_run_in_single_statements)


def _threads(place: int, gate: Gate, url: str, n: int, flights: int) -> None:
    def connected() -> Callable[[], None]:
        connection = psycopg.connect(url, autocommit=True)
        return lambda: one_run(connection)

    in_threads(gate, flights, connected, n)


class InThreads(Steps):
    def run(self, n: int, processes: int) -> dict[str, float]:
        return {"done": seconds_together(1, _threads, self.url, n // processes, processes)}
