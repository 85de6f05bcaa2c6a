"""
W10: many runs in flight in one process, on a server whose flush takes 2 ms longer.

The delay is PostgreSQL's own: with `commit_delay` set and `commit_siblings` 0 the session that is about to flush sleeps
first, holding the lock that the others wait for. A slow disk does the same, but lets in fewer of those who come meanwhile.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg

from bench.contender import Unable
from bench.together import Gate

__all__ = ["in_threads", "slow_flush"]

MICROSECONDS = 2_000
PATIENCE = 60  # seconds until every thread is connected


def slow_flush(url: str) -> None:
    """From the next connection on, each flush for a commit in this database takes 2 ms longer; needs a superuser."""
    with psycopg.connect(url, autocommit=True) as connection:
        name = connection.info.dbname
        try:
            connection.execute(f'ALTER DATABASE "{name}" SET commit_delay = {MICROSECONDS}')
        except psycopg.errors.InsufficientPrivilege:
            raise Unable("commit_delay is a superuser's setting, and the user of this server is none") from None
        connection.execute(f'ALTER DATABASE "{name}" SET commit_siblings = 0')


def in_threads(gate: Gate, threads: int, connected: Callable[[], Callable[[], object]], n: int) -> None:
    """Let each thread connect and get what it does from `connected()`; after the gate each does it n times."""
    barrier = threading.Barrier(threads + 1)

    def thread() -> None:
        try:
            one = connected()
        except BaseException:
            barrier.abort()
            raise
        barrier.wait(PATIENCE)
        barrier.wait()
        for _ in range(n):
            one()

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(thread) for _ in range(threads)]
        try:
            barrier.wait(PATIENCE)
            gate.wait()
            barrier.wait()
        except threading.BrokenBarrierError:
            barrier.abort()
        # Who waited in vain is asked last, so that the reason is heard and not its consequence.
        for future in sorted(futures, key=lambda one: isinstance(one.exception(), threading.BrokenBarrierError)):
            future.result()
