"""
W4 for the peers that run steps: operations whose process died before their fourth step, finished by the next one.

One operation is finished and one dies for real; the others are copies of their rows, made by the server.
"""

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping
from typing import ClassVar

from bench.filling import analysed
from bench.peers.crowded import copies
from bench.peers.queueing import QueuePeer
from bench.together import seconds

__all__ = ["Before", "BootPass", "dies"]

PATIENCE = 120  # seconds for a pass
Before = Callable[[str, int], None]  # what happens at the beginning of a step: run, number
_context = multiprocessing.get_context("spawn")


def dies(run: str, number: int) -> None:
    if number == 4:
        os._exit(1)


class BootPass(QueuePeer):
    job = "step"
    # Table → which of its rows are of the finished operation, the only one. Only the tables that a pass looks into: what
    # its steps have left elsewhere is not copied, in the peer's favour.
    SETTLED: ClassVar[Mapping[str, str]]
    INTERRUPTED: ClassVar[Mapping[str, str]]  # table → which of its rows are of the one that died
    LAPSE: ClassVar[str] = ""  # SQL that lets the dead one's lease lapse
    KEYS: ClassVar[frozenset[str]]

    @staticmethod
    def operate(url: str, before: Before | None) -> None:
        """In a process of its own: one operation, begun and carried out."""
        raise NotImplementedError

    def restart(self, done: Callable[[], bool]) -> None:
        """What a new process does at its start, until everything is done."""
        raise NotImplementedError

    def figures(self, size: dict) -> dict[str, float]:
        self._in_a_process(None)
        copies(self.watcher, self.SETTLED, size["settled"] - 1, self.KEYS)
        self._in_a_process(dies)
        if self.LAPSE:
            self.watcher.execute(self.LAPSE)
        copies(self.watcher, self.INTERRUPTED, size["interrupted"] - 1, self.KEYS)
        analysed(self.watcher, "")
        due = self._effects() + 2 * size["interrupted"]
        until = time.monotonic() + PATIENCE
        taken = seconds(lambda: self.restart(lambda: self._effects() >= due or time.monotonic() > until))
        self._expect_all_finished(size["settled"] + size["interrupted"])
        return {"100 runs resumed": taken * 1e3}

    def _in_a_process(self, before: Before | None) -> None:
        process = _context.Process(target=self.operate, args=(self.url, before))
        process.start()
        process.join()

    def _effects(self) -> int:
        return self.watcher.execute("SELECT count(*) FROM bench_effect").fetchone()[0]

    def _expect_all_finished(self, count: int) -> None:
        until = time.monotonic() + 10  # the last one's completion comes after its last effect, and is not timed
        while (finished := self.finished()) != count:
            if time.monotonic() > until:
                raise RuntimeError(f"{count - finished} operations were left by the boot pass")
            time.sleep(0.1)
