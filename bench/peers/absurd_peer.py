"""
Absurd: its own worker loop, ten tasks a claim, one after another; a step's effect, then the step's checkpoint.

Effect and checkpoint are two transactions on one connection: a crash between them repeats the effect.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import psycopg
from absurd_sdk import Absurd
from absurdctl import BUNDLED_SCHEMA_SQL

from bench.peers import crowded, interrupted, queueing, waking
from bench.together import Gate
from bench.work import BODY, INSERT_EFFECT, STEPS, new_key

__all__ = ["BootPass", "Claims", "Outbox", "Steps", "Waking"]


def application(url: str, before: interrupted.Before | None = None) -> Absurd:
    """The application; `before` is called at the beginning of each step."""
    connection = psycopg.connect(url, autocommit=True)
    app = Absurd(connection)

    @app.register_task("step")
    def step(parameters, context) -> None:
        for number in range(1, STEPS + 1):
            context.step(f"step-{number}", lambda number=number: effect(parameters["run"], number))

    def effect(run: str, number: int) -> None:
        if before:
            before(run, number)
        connection.execute(INSERT_EFFECT, [run, number, BODY])

    @app.register_task("message")
    def message(parameters, context) -> None:
        pass

    return app


class _Absurd(queueing.QueuePeer):
    FINISHED = "SELECT count(*) FROM absurd.\"t_default\" WHERE state = 'completed'"

    def install(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(BUNDLED_SCHEMA_SQL)
        app = application(self.url)
        app.create_queue("default")
        app.close()

    def enqueue(self, n: int) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            app = Absurd(connection)
            with connection.transaction():
                for number in range(n):
                    parameters = {"run": str(new_key())} if self.job == "step" else {"order": number}
                    app.spawn(self.job, parameters, queue="default")

    @staticmethod
    def work(place: int, gate: Gate, url: str) -> None:
        app = application(url)
        gate.wait()
        app.start_worker(worker_id=f"bench-{place}", batch_size=10, poll_interval=0.01)


class Steps(_Absurd, queueing.Steps):
    def done(self) -> int:
        return self.finished()

    def _drained(self, processes: int) -> float:
        return queueing.seconds_until_drained(processes, self.work, lambda: self.finished() < self.put_in, self.url)

    def latency(self, n: int) -> list[float]:
        """Spawned and worked off in this process, which spares it the wait for a poll."""
        app, taken = application(self.url), []
        for _ in range(n):
            begun = time.perf_counter()
            app.spawn("step", {"run": str(new_key())}, queue="default")
            app.work_batch(batch_size=1)
            taken.append(time.perf_counter() - begun)
        self.put_in += n
        app.close()
        return taken


class Outbox(_Absurd, queueing.Outbox):
    pass


class Claims(_Absurd, crowded.Claims):
    DUE: ClassVar = {
        "absurd.t_default": "state = 'pending' ORDER BY enqueue_at DESC LIMIT 1",
        "absurd.r_default": "state = 'pending' ORDER BY created_at DESC LIMIT 1",
    }
    SETTLED: ClassVar = {"absurd.t_default": "state = 'completed'", "absurd.r_default": "state = 'completed'"}
    KEYS = frozenset({"task_id", "run_id", "last_attempt_run"})


class BootPass(_Absurd, interrupted.BootPass):
    SETTLED: ClassVar = {"absurd.r_default": "true", "absurd.t_default": "true"}
    INTERRUPTED: ClassVar = {
        "absurd.c_default": "task_id = (SELECT task_id FROM absurd.t_default WHERE state = 'running')",
        "absurd.r_default": "state = 'running'",
        "absurd.t_default": "state = 'running'",
    }
    LAPSE = "UPDATE absurd.r_default SET claim_expires_at = now() - interval '1 min' WHERE state = 'running'"
    KEYS = frozenset({"task_id", "run_id", "last_attempt_run", "owner_run_id"})

    @staticmethod
    def operate(url: str, before: interrupted.Before | None) -> None:
        app = application(url, before)
        app.spawn("step", {"run": str(new_key())}, queue="default")
        app.work_batch()

    def restart(self, done: Callable[[], bool]) -> None:
        app = application(self.url)
        while not done():
            app.work_batch(batch_size=100)


class Waking(_Absurd, waking.Waking):
    @contextmanager
    def starter(self) -> Iterator[Callable[[], object]]:
        app = application(self.url)
        yield lambda: app.spawn("step", {"run": str(new_key())}, queue="default")
        app.close()
