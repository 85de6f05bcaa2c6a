"""
PgQueuer on asyncpg and uvloop, batches of a hundred.

A step's effect and the next job are one transaction. Completions are written later, in buffered batches: what is still
in the buffer when the process dies is done again.
"""

import asyncio
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.peers import crowded, queueing, waking
from bench.together import Gate
from bench.work import BODY, STEPS, new_key

__all__ = ["Claims", "Outbox", "Steps", "Waking"]

EFFECT = "INSERT INTO bench_effect (run, step, body) VALUES ($1, $2, $3)"


class _PgQueuer(queueing.QueuePeer):
    # Completed jobs leave the queue's table; its log keeps one line for each.
    FINISHED = "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"

    def install(self) -> None:
        async def apply() -> None:
            connection = await asyncpg.connect(self.url)
            await Queries.from_asyncpg_connection(connection).install()
            await connection.close()

        asyncio.run(apply())

    def enqueue(self, n: int) -> None:
        async def put() -> None:
            connection = await asyncpg.connect(self.url)
            queries = Queries.from_asyncpg_connection(connection)
            payloads = [f"{new_key()}:1".encode() for _ in range(n)]
            for start in range(0, n, 1_000):
                some = payloads[start : start + 1_000]
                await queries.enqueue([self.job] * len(some), some, [0] * len(some))
            await connection.close()

        asyncio.run(put())


def _work(name: str, place: int, gate: Gate, url: str) -> None:
    """A worker of that one entrypoint: for each that has nothing queued, a dequeue looks through all that is."""

    async def run() -> None:
        pool = await asyncpg.create_pool(url, min_size=4, max_size=10)
        worker = PgQueuer(AsyncpgPoolDriver(pool))

        async def step(job: Job) -> None:
            key, number = job.payload.decode().split(":")
            async with pool.acquire() as connection, connection.transaction():
                await connection.execute(EFFECT, key, int(number), BODY)
                if int(number) < STEPS:
                    following = f"{key}:{int(number) + 1}".encode()
                    await Queries.from_asyncpg_connection(connection).enqueue("step", following)

        async def message(job: Job) -> None:
            pass

        worker.entrypoint(name)({"step": step, "message": message}[name])
        gate.wait()
        await worker.run(batch_size=100)

    uvloop.run(run())


class Steps(_PgQueuer, queueing.Steps):
    work = staticmethod(functools.partial(_work, "step"))


class Outbox(_PgQueuer, queueing.Outbox):
    work = staticmethod(functools.partial(_work, "message"))


class Claims(_PgQueuer, crowded.Claims):
    work = staticmethod(functools.partial(_work, "message"))
    DUE: ClassVar = {"pgqueuer": "status = 'queued' LIMIT 1"}
    SETTLED: ClassVar = {"pgqueuer_log": "status = 'successful'"}


class Waking(_PgQueuer, waking.Waking):
    work = staticmethod(functools.partial(_work, "step"))

    @contextmanager
    def starter(self) -> Iterator[Callable[[], object]]:
        with asyncio.Runner() as runner:
            connection = runner.run(asyncpg.connect(self.url))
            queries = Queries.from_asyncpg_connection(connection)
            yield lambda: runner.run(queries.enqueue("step", f"{new_key()}:1".encode()))
            runner.run(connection.close())
