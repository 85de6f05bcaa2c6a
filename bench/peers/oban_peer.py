"""
oban: one process with a queue of ten, asynchronous workers, uvloop as its own command line uses.

A step's effect and the next job are one transaction; the completion is another: at least once.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import uvloop
from oban import Oban, worker
from oban.schema import install

from bench.peers import crowded, queueing, waking
from bench.together import Gate
from bench.work import BODY, INSERT_EFFECT, STEPS, new_key

__all__ = ["Claims", "Outbox", "Steps", "Waking"]

LIMIT = 10
_pool = None


@worker(queue="default")
class Step:
    async def process(self, job) -> None:
        run, number = job.args["run"], job.args["number"]
        async with _pool.connection() as connection:
            await connection.execute(INSERT_EFFECT, [run, number, BODY])
            if number < STEPS:
                await Step.enqueue({"run": run, "number": number + 1}, conn=connection)


@worker(queue="default")
class Message:
    async def process(self, job) -> None:
        pass


class _Oban(queueing.QueuePeer):
    FINISHED = "SELECT count(*) FROM oban_jobs WHERE state = 'completed'"

    def install(self) -> None:
        async def apply() -> None:
            pool = await Oban.create_pool(self.url)
            await install(pool)
            await pool.close()

        asyncio.run(apply())

    def enqueue(self, n: int) -> None:
        async def put() -> None:
            pool = await Oban.create_pool(self.url)
            async with Oban(pool=pool) as oban:
                if self.job == "step":
                    jobs = [Step.new({"run": str(new_key()), "number": 1}) for _ in range(n)]
                else:
                    jobs = [Message.new({"order": number}) for number in range(n)]
                for start in range(0, n, 1_000):
                    await oban.enqueue_many(jobs[start : start + 1_000])
            await pool.close()

        asyncio.run(put())

    @staticmethod
    def work(place: int, gate: Gate, url: str) -> None:
        async def run() -> None:
            global _pool
            _pool = await Oban.create_pool(url, min_size=LIMIT + 2, max_size=LIMIT + 2)
            gate.wait()
            async with Oban(pool=_pool, queues={"default": LIMIT}, node=f"bench-{place}"):
                await asyncio.Event().wait()

        uvloop.run(run())


class Steps(_Oban, queueing.Steps):
    pass


class Outbox(_Oban, queueing.Outbox):
    pass


class Claims(_Oban, crowded.Claims):
    DUE: ClassVar = {"oban_jobs": "state = 'available' LIMIT 1"}
    SETTLED: ClassVar = {"oban_jobs": "state = 'completed'"}


class Waking(_Oban, waking.Waking):
    @contextmanager
    def starter(self) -> Iterator[Callable[[], object]]:
        with asyncio.Runner() as runner:
            pool = runner.run(Oban.create_pool(self.url))
            oban = Oban(pool=pool)
            yield lambda: runner.run(oban.enqueue(Step.new({"run": str(new_key()), "number": 1})))
            runner.run(pool.close())
