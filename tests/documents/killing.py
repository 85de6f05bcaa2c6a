"""
SIGKILL at every statement: a forked child does the work and kills itself before or after its n-th statement or commit.

No `finally`, no rollback by the client, no goodbye to the server: the child is gone as in a power cut of its machine.
"""

import os
import signal
from collections.abc import Callable

from django.db import connection


def die_at(work: Callable[[], object], point: int, *, after: bool) -> bool:
    """Do the work in a child that dies at that point. Return whether it died; it may end before the point comes."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) in (0, 1), status
        return os.WIFSIGNALED(status)
    code = 1
    try:
        # The parent's connection is not ours to close; forget it, and let a new one be made.
        connection.__dict__["_parents"] = connection.connection
        connection.connection = None
        connection.in_atomic_block = False
        connection.savepoint_ids, connection.atomic_blocks = [], []
        connection.ensure_connection()
        seen = 0

        def counted(act):
            nonlocal seen
            seen += 1
            if seen == point and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = act()
            if seen == point and after:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        commit = connection._commit
        connection._commit = lambda: counted(commit)
        with connection.execute_wrapper(lambda run, *args: counted(lambda: run(*args))):
            work()
        code = 0
    finally:
        os._exit(code)


def points(work: Callable[[], Callable[[], object]]):
    """Yield (point, after) for each point at which the child really died; `work()` prepares and returns the work."""
    for after in (False, True):
        point = 1
        while die_at(work(), point, after=after):
            yield point, after
            point += 1
