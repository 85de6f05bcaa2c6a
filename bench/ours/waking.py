"""
W5 and W6 by us: a `manage.py reconcile --watch` beside the process that starts runs, and one `reconcile` after a SIGKILL.

Both are real processes with everything a deployment has, so W6 includes the start of Python and Django.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import psycopg

from bench.figures import percentile
from bench.floors.psycopg_waking import wait_for
from bench.ours.site import configured, made

__all__ = ["Recovery", "Waking"]

_context = multiprocessing.get_context("spawn")
SETTINGS = {"DURABLE": {"NOTIFY": True}}  # as whoever wants a quick first step sets it; the poll stays at a second


def _reconcile(*options: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "django", "reconcile", "--verbosity", "0", *options])


def _hang(url: str) -> None:
    models = configured(url, **SETTINGS)
    models.Hanging.seconds = 600.0
    models.Hanging.objects.run()


class _Scenario:
    def __init__(self, url: str) -> None:
        self.url = url

    def setup(self) -> None:
        self.models = made(self.url, **SETTINGS)

    def teardown(self) -> None:
        from django.db import connection

        connection.close()


class Waking(_Scenario):
    def figures(self, size: dict) -> dict[str, float]:
        worker, taken = _reconcile("--watch"), []
        started = self.models.Woken.objects.start
        try:
            with psycopg.connect(self.url, autocommit=True) as connection:
                warm = str(started().pk)
                wait_for(connection, "SELECT 1 FROM bench_effect WHERE run = %s", warm)
                for _ in range(size["n"]):
                    time.sleep(0.03)
                    begun = time.time()
                    run = str(started().pk)
                    stepped = wait_for(connection, "SELECT body FROM bench_effect WHERE run = %s", run)
                    taken.append(float(stepped) - begun)
        finally:
            worker.kill()
            worker.wait()
        return {"p50": percentile(taken, 0.5) * 1e3, "p99": percentile(taken, 0.99) * 1e3}


class Recovery(_Scenario):
    def figures(self, size: dict) -> dict[str, float]:
        taken = [self._once() for _ in range(size["n"])]
        return {"p50": percentile(taken, 0.5) * 1e3, "longest": max(taken) * 1e3}

    def _once(self) -> float:
        victim = _context.Process(target=_hang, args=(self.url,))
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("TRUNCATE bench_effect")
            victim.start()
            wait_for(connection, "SELECT 1 FROM bench_effect WHERE run LIKE 'inside%%'")
            begun = time.perf_counter()
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
            heir = _reconcile()
            wait_for(connection, "SELECT 1 FROM bench_effect WHERE step = 2")
            taken = time.perf_counter() - begun
            heir.wait()
            left = connection.execute("SELECT count(*) FROM bench_ours_hanging WHERE status <> 'done'").fetchone()[0]
        if left:
            raise RuntimeError("the run of the killed process was not settled")
        return taken
