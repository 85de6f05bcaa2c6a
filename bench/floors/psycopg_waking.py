"""
W5 and W6 with the driver alone: a worker woken by NOTIFY, and a new process that finishes what a killed one left.

The step writes the moment it began into its effect, by the machine's clock: both processes are on one machine.
"""

import multiprocessing
import os
import signal
import time

import psycopg

from bench.figures import percentile
from bench.floors.schema import CLAIM, LAPSED, SCHEMA, START, stamp
from bench.work import BODY, INSERT_EFFECT, STEPS, new_key

__all__ = ["Recovery", "Waking"]

_context = multiprocessing.get_context("spawn")
PENDING = "INSERT INTO floor_run (id, status, due_at) VALUES (%s, 'pending', statement_timestamp())"


def _watch(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("LISTEN due")
        connection.execute(INSERT_EFFECT, ["ready", 0, BODY])
        while True:
            list(connection.notifies(stop_after=1))
            for run, fence, *_ in connection.execute(CLAIM, [10]).fetchall():
                with connection.transaction():
                    connection.execute(stamp(STEPS), [run, fence])
                    connection.execute(INSERT_EFFECT, [str(run), 1, repr(time.time())])


def _hang_in_a_step(url: str, run) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(START, [run])
        connection.execute("BEGIN")
        connection.execute(stamp(1), [run, 1])
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(INSERT_EFFECT, [f"inside {run}", 0, BODY])
        time.sleep(600)


def _recover(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(LAPSED)  # the floor knows that the owner is dead; we have to find out
        for run, fence, *_ in connection.execute(CLAIM, [10]).fetchall():
            for step in range(1, STEPS + 1):
                with connection.transaction():
                    connection.execute(stamp(step), [run, fence])
                    connection.execute(INSERT_EFFECT, [str(run), step, BODY])


def wait_for(connection: psycopg.Connection, query: str, *parameters: object, patience: float = 60) -> object:
    """Ask until the answer is something; the fact waited for is a row."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if row := connection.execute(query, parameters).fetchone():
            return row[0]
        time.sleep(0.002)
    raise RuntimeError(f"waited {patience} s in vain for {query}")


class _Scenario:
    def __init__(self, url: str) -> None:
        self.url = url

    def setup(self) -> None:
        with psycopg.connect(self.url) as connection:
            for statement in SCHEMA:
                connection.execute(statement)

    def teardown(self) -> None:
        pass


class Waking(_Scenario):
    def figures(self, size: dict) -> dict[str, float]:
        worker = _context.Process(target=_watch, args=(self.url,))
        worker.start()
        taken = []
        try:
            with psycopg.connect(self.url, autocommit=True) as connection:
                wait_for(connection, "SELECT 1 FROM bench_effect WHERE run = 'ready'")
                for _ in range(size["n"]):
                    time.sleep(0.03)
                    run, begun = new_key(), time.time()
                    with connection.transaction():
                        connection.execute(PENDING, [run])
                        connection.execute("NOTIFY due")
                    stepped = wait_for(connection, "SELECT body FROM bench_effect WHERE run = %s", str(run))
                    taken.append(float(stepped) - begun)
        finally:
            worker.kill()
            worker.join()
        return {"p50": percentile(taken, 0.5) * 1e3, "p99": percentile(taken, 0.99) * 1e3}


class Recovery(_Scenario):
    def figures(self, size: dict) -> dict[str, float]:
        taken = [self._once() for _ in range(size["n"])]
        return {"p50": percentile(taken, 0.5) * 1e3, "longest": max(taken) * 1e3}

    def _once(self) -> float:
        run = new_key()
        victim = _context.Process(target=_hang_in_a_step, args=(self.url, run))
        victim.start()
        with psycopg.connect(self.url, autocommit=True) as connection:
            wait_for(connection, "SELECT 1 FROM bench_effect WHERE run = %s", f"inside {run}")
            begun = time.perf_counter()
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
            heir = _context.Process(target=_recover, args=(self.url,))
            heir.start()
            wait_for(connection, "SELECT 1 FROM floor_run WHERE id = %s AND status = 'done'", run)
            taken = time.perf_counter() - begun
            heir.join()
        return taken
