"""
W3 to W6 by DBOS: its queue in a full table, and what a process finds when it is launched under a dead one's name.

DBOS has no lease: whoever is launched as the same executor takes up at once what that one has left.
"""

import functools
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import psycopg
from dbos import DBOSClient

from bench.figures import percentile
from bench.floors.psycopg_waking import wait_for
from bench.peers import crowded, interrupted, waking
from bench.peers.dbos_peer import Dbos, Outbox, launch, psycopg_url
from bench.work import BODY, INSERT_EFFECT, new_key

__all__ = ["BootPass", "Claims", "Recovery", "Waking"]

_context = multiprocessing.get_context("spawn")


class Claims(Outbox, crowded.Claims):
    DUE: ClassVar = {
        "dbos.workflow_status": "status = 'ENQUEUED' ORDER BY created_at DESC LIMIT 1",
        "dbos.workflow_input": "true ORDER BY retention_timestamp DESC LIMIT 1",
    }
    SETTLED: ClassVar = {"dbos.workflow_status": "true", "dbos.workflow_input": "true", "dbos.workflow_output": "true"}
    KEYS = frozenset({"workflow_uuid"})


_PENDING = "workflow_uuid = (SELECT workflow_uuid FROM dbos.workflow_status WHERE status = 'PENDING')"


class BootPass(Dbos, interrupted.BootPass):
    SETTLED: ClassVar = {"dbos.workflow_status": "status = 'SUCCESS'"}
    INTERRUPTED: ClassVar = {
        "dbos.operation_outputs": _PENDING,
        "dbos.workflow_input": _PENDING,
        "dbos.workflow_status": "status = 'PENDING'",
    }
    KEYS = frozenset({"workflow_uuid"})

    @staticmethod
    def operate(url: str, before: interrupted.Before | None) -> None:
        launch(url, 0, before=before)(str(new_key()))

    def restart(self, done: Callable[[], bool]) -> None:
        """Launched under the dead one's name it takes up what that has left."""
        launch(self.url, 0)
        while not done():
            time.sleep(0.005)


class Waking(Outbox, waking.Waking):
    """Enqueued, as the caller's process is not the one that runs it."""

    @contextmanager
    def starter(self) -> Iterator[Callable[[], object]]:
        client = DBOSClient(system_database_url=psycopg_url(self.url))
        options = {"workflow_name": "operation", "queue_name": "outbox", "app_version": "bench"}
        yield lambda: client.enqueue(options, str(new_key()))
        client.destroy()


def _hangs(url: str, run: str, number: int) -> None:
    if number == 1:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(INSERT_EFFECT, [f"inside {run}", 0, BODY])
        time.sleep(600)


def _heir(url: str) -> None:
    launch(url, 0)
    time.sleep(600)


class Recovery(Dbos):
    """W6: the next process has the killed one's name, and so knows at its start that it is dead."""

    def figures(self, size: dict) -> dict[str, float]:
        taken = [self._once(number) for number in range(size["n"])]
        return {"p50": percentile(taken, 0.5) * 1e3, "longest": max(taken) * 1e3}

    def _once(self, number: int) -> float:
        before = functools.partial(_hangs, self.url)
        victim = _context.Process(target=BootPass.operate, args=(self.url, before))
        heir = _context.Process(target=_heir, args=(self.url,))
        victim.start()
        wait_for(self.watcher, "SELECT 1 FROM bench_effect WHERE step = 0 OFFSET %s", number)
        begun = time.perf_counter()
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        heir.start()
        try:
            wait_for(self.watcher, f"SELECT 1 FROM ({self.FINISHED}) done WHERE count > %s", number)
            return time.perf_counter() - begun
        finally:
            heir.kill()
            heir.join()
