"""
Procrastinate: asynchronous tasks, ten at a time in one process, woken by LISTEN/NOTIFY.

A step's effect and the deferring of the next step are two transactions; the completion is a third: at least once.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import procrastinate

from bench.peers import crowded, queueing, waking
from bench.together import Gate
from bench.work import BODY, INSERT_EFFECT, STEPS, new_key

__all__ = ["Claims", "Outbox", "Steps", "Waking"]

CONCURRENCY = 10


def application(url: str) -> procrastinate.App:
    app = procrastinate.App(
        connector=procrastinate.PsycopgConnector(conninfo=url, min_size=CONCURRENCY + 2, max_size=CONCURRENCY + 2)
    )

    @app.task(name="step")
    async def step(run: str, number: int) -> None:
        async with app.connector.pool.connection() as connection:
            await connection.execute(INSERT_EFFECT, [run, number, BODY])
        if number < STEPS:
            await step.defer_async(run=run, number=number + 1)

    @app.task(name="message")
    async def message(order: int) -> None:
        pass

    return app


class _Procrastinate(queueing.QueuePeer):
    FINISHED = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"

    def install(self) -> None:
        async def apply() -> None:
            app = application(self.url)
            async with app.open_async():
                await app.schema_manager.apply_schema_async()

        asyncio.run(apply())

    def enqueue(self, n: int) -> None:
        async def defer() -> None:
            app = application(self.url)
            async with app.open_async():
                if self.job == "step":
                    jobs = [{"run": str(new_key()), "number": 1} for _ in range(n)]
                else:
                    jobs = [{"order": number} for number in range(n)]
                await app.tasks[self.job].batch_defer_async(*jobs)

        asyncio.run(defer())

    @staticmethod
    def work(place: int, gate: Gate, url: str) -> None:
        async def run() -> None:
            app = application(url)
            async with app.open_async():
                gate.wait()
                await app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)

        asyncio.run(run())


class Steps(_Procrastinate, queueing.Steps):
    pass


class Outbox(_Procrastinate, queueing.Outbox):
    pass


class Claims(_Procrastinate, crowded.Claims):
    DUE: ClassVar = {"procrastinate_jobs": "status = 'todo' LIMIT 1"}
    SETTLED: ClassVar = {"procrastinate_jobs": "status = 'succeeded'"}


class Waking(_Procrastinate, waking.Waking):
    @contextmanager
    def starter(self) -> Iterator[Callable[[], object]]:
        app = application(self.url)
        with app.open():
            yield lambda: app.tasks["step"].defer(run=str(new_key()), number=1)
