"""
What the peers that are queues have in common: five steps are five jobs in a chain, an outbox is one job a message.

A subclass says how to install, how to put n first jobs in, what a worker process does, and what its table calls
finished. Putting the jobs in is timed for W2 only, never for W1: that is in the peers' favour.
"""

import time
from typing import ClassVar

import psycopg

from bench.together import Gate, seconds, seconds_until_drained
from bench.work import EFFECTS, STEPS

__all__ = ["Outbox", "QueuePeer", "Steps"]


class QueuePeer:
    FINISHED: ClassVar[str]  # SQL: the number of jobs whose completion is recorded
    job: ClassVar[str]  # which of its jobs a subclass starts: "step" or "message"

    def __init__(self, url: str) -> None:
        self.url = url
        self.put_in = 0

    def install(self) -> None:
        raise NotImplementedError

    def enqueue(self, n: int) -> None:
        raise NotImplementedError

    @staticmethod
    def work(place: int, gate: Gate, url: str) -> None:
        """A worker process: get ready, `gate.wait()`, work for ever."""
        raise NotImplementedError

    def setup(self) -> None:
        with psycopg.connect(self.url) as connection:
            connection.execute(EFFECTS)
        self.install()
        self.watcher = psycopg.connect(self.url, autocommit=True)

    def teardown(self) -> None:
        self.watcher.close()

    def finished(self) -> int:
        return self.watcher.execute(self.FINISHED).fetchone()[0]


class Steps(QueuePeer):
    job = "step"

    def run(self, n: int, processes: int) -> dict[str, float]:
        self.enqueue(n)
        self.put_in += n
        return {"done": self._drained(processes)}

    def done(self) -> int:
        return self.finished() // STEPS

    def latency(self, n: int) -> list[float]:
        taken: list[float] = []

        def one_after_another() -> bool:
            for _ in range(n):
                self.put_in += 1
                begun = time.perf_counter()
                self.enqueue(1)
                while self.finished() < self.put_in * STEPS:
                    if time.perf_counter() - begun > 60:
                        raise RuntimeError("one operation alone took more than a minute")
                    time.sleep(0.002)
                taken.append(time.perf_counter() - begun)
            return False

        seconds_until_drained(1, self.work, one_after_another, self.url)
        return taken

    def _drained(self, processes: int) -> float:
        return seconds_until_drained(processes, self.work, lambda: self.finished() < self.put_in * STEPS, self.url)


class Outbox(QueuePeer):
    job = "message"

    def run(self, n: int, processes: int) -> dict[str, float]:
        enqueue = seconds(lambda: self.enqueue(n))
        self.put_in += n
        drain = seconds_until_drained(processes, self.work, lambda: self.finished() < self.put_in, self.url)
        return {"enqueue": enqueue, "drain": drain}

    def done(self) -> int:
        return self.finished()

    def latency(self, n: int) -> list[float]:
        return []
