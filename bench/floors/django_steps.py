"""
W1 and W9 as a Django developer would write them by hand: `atomic()`, the fenced stamp, the effect.

`Cursors` sends the floor's own SQL through Django's connection; `Orm` says the same with models. Django's defaults.
"""

import time
from collections.abc import Callable
from typing import ClassVar

import psycopg

from bench.django_site import PREPARED, configure
from bench.floors.schema import SCHEMA, START, stamp
from bench.together import Gate, seconds_together
from bench.work import BODY, INSERT_EFFECT, STEPS, new_key

__all__ = ["Cursors", "Orm", "PreparedCursors"]

STAMPS = [(step, stamp(step)) for step in range(1, STEPS + 1)]


def one_run_through_cursors() -> None:
    from django.db import connection, transaction

    run, fence = new_key(), 1
    with connection.cursor() as cursor:
        cursor.execute(START, [run])
    for step, statement in STAMPS:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, [run, fence])
            if cursor.rowcount != 1:
                raise RuntimeError(f"{run} has a newer owner")
            cursor.execute(INSERT_EFFECT, [str(run), step, BODY])


def one_run_through_models() -> None:
    from datetime import timedelta

    from django.db import transaction
    from django.db.models.functions import Now

    from bench.floors.django_app.models import Effect, Run

    run, fence = new_key(), 1
    Run.objects.create(id=run, status="running", fence=1, due_at=Now(), lease_expires_at=Now() + timedelta(seconds=60))
    for step in range(1, STEPS + 1):
        settled = {}
        if step == STEPS:
            settled = {"status": "done", "due_at": None, "lease_expires_at": None, "settled_at": Now()}
        with transaction.atomic():
            mine = Run.objects.filter(pk=run, fence=fence, status="running")
            if mine.update(**{f"s{step}_at": Now()}, **settled) != 1:
                raise RuntimeError(f"{run} has a newer owner")
            Effect.objects.create(run=str(run), step=step, body=BODY)


def _loop(place: int, gate: Gate, url: str, n: int, one: Callable[[], None], options: dict[str, object]) -> None:
    configure(url, "bench.floors.django_app", options=options)
    from django.db import connection

    connection.ensure_connection()
    gate.wait()
    for _ in range(n):
        one()


class Cursors:
    one = staticmethod(one_run_through_cursors)
    options: ClassVar[dict[str, object]] = {}

    def __init__(self, url: str) -> None:
        self.url = url

    def setup(self) -> None:
        with psycopg.connect(self.url) as connection:
            for statement in SCHEMA:
                connection.execute(statement)
        configure(self.url, "bench.floors.django_app", options=self.options)

    def run(self, n: int, processes: int) -> dict[str, float]:
        return {"done": seconds_together(processes, _loop, self.url, n // processes, self.one, self.options)}

    def done(self) -> int:
        with psycopg.connect(self.url) as connection:
            return connection.execute("SELECT count(*) FROM floor_run WHERE status = 'done'").fetchone()[0]

    def latency(self, n: int) -> list[float]:
        taken = []
        for _ in range(n):
            begun = time.perf_counter()
            self.one()
            taken.append(time.perf_counter() - begun)
        self.teardown()  # a session tells the server its counters when it ends
        return taken

    def teardown(self) -> None:
        from django.db import connection

        connection.close()


class Orm(Cursors):
    one = staticmethod(one_run_through_models)


class PreparedCursors(Cursors):
    options: ClassVar[dict[str, object]] = PREPARED
