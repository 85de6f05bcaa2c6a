"""W5 for the queues: an operation is put in over an open connection; its first step's row notes the moment it is written."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.figures import percentile
from bench.floors.psycopg_waking import wait_for
from bench.peers.queueing import QueuePeer
from bench.together import seconds_until_drained
from bench.work import STEPS

__all__ = ["Waking"]

FIRST = "SELECT extract(epoch FROM at)::float8 FROM bench_effect WHERE step = 1 ORDER BY id OFFSET %s LIMIT 1"
ALL = "SELECT 1 FROM bench_effect HAVING count(*) >= %s"


class Waking(QueuePeer):
    job = "step"

    @contextmanager
    def starter(self) -> Iterator[Callable[[], object]]:
        """Yield what puts one operation in, with everything open that it needs."""
        yield lambda: self.enqueue(1)

    def setup(self) -> None:
        super().setup()
        self.watcher.execute("ALTER TABLE bench_effect ADD at timestamptz DEFAULT clock_timestamp()")

    def figures(self, size: dict) -> dict[str, float]:
        taken: list[float] = []

        def one_after_another() -> bool:
            with self.starter() as start:
                for number in range(size["n"] + 1):
                    wait_for(self.watcher, ALL, number * STEPS)
                    time.sleep(0.03)
                    begun = time.time()
                    start()
                    taken.append(wait_for(self.watcher, FIRST, number) - begun)
            return False

        seconds_until_drained(1, self.work, one_after_another, self.url)
        del taken[0]  # it waited for the worker's own beginning
        return {"p50": percentile(taken, 0.5) * 1e3, "p99": percentile(taken, 0.99) * 1e3}
