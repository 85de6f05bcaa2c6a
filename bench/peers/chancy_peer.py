"""
Chancy: its asynchronous executor with eager polling, twenty at a time; completions flushed every 20 ms instead of 1 s.

A step's effect and the next job are one transaction; completions are written in batches: at least once.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from chancy import Chancy, Job, Queue, Worker
from psycopg_pool import AsyncConnectionPool

from bench.peers import crowded, queueing, waking
from bench.together import Gate
from bench.work import BODY, INSERT_EFFECT, STEPS, new_key

__all__ = ["Claims", "Outbox", "Steps", "Waking"]

CONCURRENCY = 20
QUEUE = Queue(
    name="default",
    concurrency=CONCURRENCY,
    executor="chancy.executors.asyncex.AsyncExecutor",
    polling_interval=1,
    eager_polling=True,
)
_app: Chancy | None = None
_pool: AsyncConnectionPool | None = None


async def step(*, run: str, number: int) -> None:
    async with _pool.connection() as connection:
        await connection.execute(INSERT_EFFECT, [run, number, BODY])
        if number < STEPS:
            async with connection.cursor(row_factory=_rows) as cursor:
                await _app.push_many_ex(cursor, [_job(step, run=run, number=number + 1)])


async def message(*, order: int) -> None:
    pass


def _rows(cursor):
    from psycopg.rows import dict_row

    return dict_row(cursor)


def _job(function, **arguments) -> Job:
    return Job.from_func(function, queue="default", kwargs=arguments)


def _chancy(url: str) -> Chancy:
    quiet = logging.getLogger("bench.chancy")
    quiet.setLevel(logging.ERROR)
    return Chancy(url, log=quiet)


class _Chancy(queueing.QueuePeer):
    FINISHED = "SELECT count(*) FROM chancy_jobs WHERE state = 'succeeded'"

    def install(self) -> None:
        async def apply() -> None:
            async with _chancy(self.url) as chancy:
                await chancy.migrate()
                await chancy.declare(QUEUE, upsert=True)

        asyncio.run(apply())

    def enqueue(self, n: int) -> None:
        async def put() -> None:
            async with _chancy(self.url) as chancy:
                if self.job == "step":
                    jobs = [_job(step, run=str(new_key()), number=1) for _ in range(n)]
                else:
                    jobs = [_job(message, order=number) for number in range(n)]
                async for _ in chancy.push_many(jobs):
                    pass

        asyncio.run(put())

    @staticmethod
    def work(place: int, gate: Gate, url: str) -> None:
        async def run() -> None:
            global _app, _pool
            _pool = AsyncConnectionPool(url, min_size=4, max_size=10, open=False)
            await _pool.open(wait=True)
            async with _chancy(url) as _app:
                worker = Worker(_app, register_signal_handlers=False)
                worker.send_outgoing_interval = 0.02
                gate.wait()
                async with worker:
                    await worker.wait_for_shutdown()

        asyncio.run(run())


class Steps(_Chancy, queueing.Steps):
    pass


class Outbox(_Chancy, queueing.Outbox):
    pass


class Claims(_Chancy, crowded.Claims):
    DUE: ClassVar = {"chancy_jobs": "state = 'pending' LIMIT 1"}
    SETTLED: ClassVar = {"chancy_jobs": "state = 'succeeded'"}
    KEYS = frozenset({"id"})


class Waking(_Chancy, waking.Waking):
    @contextmanager
    def starter(self) -> Iterator[Callable[[], object]]:
        with asyncio.Runner() as runner:
            chancy = runner.run(_chancy(self.url).__aenter__())
            yield lambda: runner.run(chancy.push(_job(step, run=str(new_key()), number=1)))
            runner.run(chancy.__aexit__(None, None, None))
