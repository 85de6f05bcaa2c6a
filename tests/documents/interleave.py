"""
Every order of two or three writers, statement by statement, against a real PostgreSQL.

Each writer is a thread with its own connection. Before every statement and every commit it stops at a gate, and the
explorer says who goes next. A writer that waits for another's row lock (PostgreSQL says so) is left waiting and is
looked at again after each step. The choices made are the schedule; the explorer walks all schedules depth first, or
those with at most so many preemptions (a switch away from a writer that could have gone on).
"""

import threading
import time
from collections.abc import Callable, Iterator

from django.db import connection

DEADLINE = 20.0


class Writer:
    """One thread that stops at each gate."""

    def __init__(self, name: str, work: Callable[[], object]) -> None:
        self.name, self.work = name, work
        self.result: object = None
        self.at_gate, self.go, self.done = threading.Event(), threading.Event(), threading.Event()
        self.pid = 0
        self.steps = 0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _gate(self) -> None:
        self.at_gate.set()
        assert self.go.wait(DEADLINE), f"{self.name} was never let through"
        self.go.clear()

    def _gated(self, execute, sql, params, many, context):
        self._gate()
        return execute(sql, params, many, context)

    def _run(self) -> None:
        try:
            connection.ensure_connection()
            self.pid = connection.connection.info.backend_pid
            commit = connection._commit

            def gated_commit():
                self._gate()
                commit()

            connection._commit = gated_commit
            with connection.execute_wrapper(self._gated):
                self.result = self.work()
        except Exception as error:
            self.result = error
        finally:
            connection.__dict__.pop("_commit", None)
            connection.close()
            self.done.set()
            self.at_gate.set()

    def step(self) -> None:
        """Let the writer through its gate."""
        self.steps += 1
        self.at_gate.clear()
        self.go.set()

    def settled(self) -> bool:
        """Wait until the writer is at a gate again or done (True), or waits for a lock (False)."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            if self.at_gate.wait(0.0004):
                return True
            with connection.cursor() as cursor:
                cursor.execute("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s", [self.pid])
                row = cursor.fetchone()
            if row and row[0] and not self.at_gate.is_set():
                return False
        raise AssertionError(f"{self.name} neither arrived nor waits for a lock")


def run(works: dict[str, Callable[[], object]], choose: Callable[[list[str], str], str]) -> dict[str, object]:
    """Run the writers to their ends; `choose(ready, last)` names the next. Return what each returned or raised."""
    writers = {name: Writer(name, work) for name, work in works.items()}
    blocked: set[str] = set()
    for one in writers.values():
        assert one.at_gate.wait(DEADLINE)
    last = ""
    while not all(one.done.is_set() for one in writers.values()):
        blocked -= {name for name in blocked if writers[name].settled()}
        ready = [name for name, one in writers.items() if not one.done.is_set() and name not in blocked]
        if not ready:
            time.sleep(0.001)  # PostgreSQL is about to end a deadlock
            continue
        last = choose(ready, last)
        writers[last].step()
        if not writers[last].settled():
            blocked.add(last)
    for one in writers.values():
        one.thread.join(DEADLINE)
    return {name: one.result for name, one in writers.items()}


def schedules(
    explore: Callable[[Callable[[list[str], str], str]], None], *, preemptions: int, most: int
) -> Iterator[list[str]]:
    """Call `explore(choose)` once for each schedule; yield the schedule. Stop after `most`."""
    stack: list[list[str]] = [[]]
    count = 0
    while stack and count < most:
        prefix = stack.pop()
        taken: list[str] = []
        spent = 0

        def choose(ready: list[str], last: str, prefix=prefix, taken=taken) -> str:
            nonlocal spent
            at = len(taken)
            if at < len(prefix):
                choice = prefix[at] if prefix[at] in ready else ready[0]
            else:
                choice = last if last in ready else ready[0]
                if last not in ready or spent < preemptions:
                    stack.extend([*taken, other] for other in ready if other != choice)
            if last in ready and choice != last:
                spent += 1
            taken.append(choice)
            return choice

        explore(choose)
        count += 1
        yield taken
