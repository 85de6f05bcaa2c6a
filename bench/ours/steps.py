"""
W1, W9 and W10 by us: `Model.objects.run()` in a loop, one run after another in each process, born claimed; for W10 in
each thread of one process.

Nothing is tuned but what a README may advise: the connection stays open; `Prepared` turns on Django's own switch for
prepared statements, for whoever has no pooler in the way.
"""

import time
from collections.abc import Callable
from typing import ClassVar

import psycopg

from bench.django_site import PREPARED
from bench.flights import in_threads
from bench.ours.site import configured, made
from bench.together import Gate, seconds_together

__all__ = ["Cursors", "FourThreads", "InThreads", "Orm", "Prepared", "PreparedInThreads"]

THREADS = 4  # of a worker, where the project says nothing


def _loop(place: int, gate: Gate, url: str, n: int, name: str, options: dict[str, object]) -> None:
    models = configured(url, options)
    from django.db import connection

    start = getattr(models, name).objects.run
    connection.ensure_connection()
    gate.wait()
    for _ in range(n):
        start()


class Cursors:
    model = "Insertion"
    options: ClassVar[dict[str, object]] = {}

    def __init__(self, url: str) -> None:
        self.url = url

    def setup(self) -> None:
        self.models = made(self.url, self.options)

    def run(self, n: int, processes: int) -> dict[str, float]:
        return {"done": seconds_together(processes, _loop, self.url, n // processes, self.model, self.options)}

    def done(self) -> int:
        with psycopg.connect(self.url) as connection:
            table = f"bench_ours_{self.model.lower()}"
            return connection.execute(f"SELECT count(*) FROM {table} WHERE status = 'done'").fetchone()[0]

    def latency(self, n: int) -> list[float]:
        start, taken = getattr(self.models, self.model).objects.run, []
        for _ in range(n):
            begun = time.perf_counter()
            start()
            taken.append(time.perf_counter() - begun)
        self.teardown()  # a session tells the server its counters when it ends
        return taken

    def teardown(self) -> None:
        from django.db import connection

        connection.close()


class Orm(Cursors):
    model = "OrmInsertion"


class Prepared(Cursors):
    options: ClassVar[dict[str, object]] = PREPARED


def _threads(place: int, gate: Gate, url: str, n: int, flights: int, options: dict[str, object]) -> None:
    models = configured(url, options)

    def connected() -> Callable[[], object]:
        from django.db import connection

        connection.ensure_connection()
        return models.Insertion.objects.run

    in_threads(gate, flights, connected, n)


class FourThreads(Cursors):
    """Four runs in flight in each process, as the worker has by default."""

    def run(self, n: int, processes: int) -> dict[str, float]:
        each, flights = n // processes // THREADS, THREADS
        return {"done": seconds_together(processes, _threads, self.url, each, flights, self.options)}


class InThreads(Cursors):
    def run(self, n: int, processes: int) -> dict[str, float]:
        return {"done": seconds_together(1, _threads, self.url, n // processes, processes, self.options)}


class PreparedInThreads(InThreads):
    options: ClassVar[dict[str, object]] = PREPARED
