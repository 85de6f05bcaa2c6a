"""
Absurd: its own worker loop, ten tasks a claim, one after another; a step's effect, then the step's checkpoint.

Effect and checkpoint are two transactions on one connection: a crash between them repeats the effect.
"""

import time

import psycopg
from absurd_sdk import Absurd
from absurdctl import BUNDLED_SCHEMA_SQL

from bench.peers import queueing
from bench.together import Gate
from bench.work import BODY, INSERT_EFFECT, STEPS, new_key

__all__ = ["Outbox", "Steps"]


def application(url: str) -> Absurd:
    connection = psycopg.connect(url, autocommit=True)
    app = Absurd(connection)

    @app.register_task("step")
    def step(parameters, context) -> None:
        for number in range(1, STEPS + 1):
            context.step(f"step-{number}", lambda number=number: effect(parameters["run"], number))

    def effect(run: str, number: int) -> None:
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
