"""
Several processes that start at one moment, and the seconds until the last of them is done.

Importing, connecting and warming up happen before the gate opens, so they are nobody's cost.
"""

import contextlib
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

__all__ = ["Gate", "seconds", "seconds_together", "seconds_until_drained"]

_context = multiprocessing.get_context("spawn")
PATIENCE = 900  # seconds after which a contender counts as hung


def seconds(work: Callable[[], Any]) -> float:
    """How long the work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


class Gate:
    """Where each process waits, ready to work, until all are."""

    def __init__(self, parties: int) -> None:
        self._opens = _context.Barrier(parties + 1)
        self._closes = _context.Barrier(parties + 1)

    def wait(self) -> None:
        self._opens.wait(PATIENCE)

    def leave(self) -> None:
        self._closes.wait(PATIENCE)

    def abort(self) -> None:
        self._opens.abort()
        self._closes.abort()


def _guarded(work: Callable[..., None], place: int, gate: Gate, arguments: tuple[Any, ...]) -> None:
    try:
        work(place, gate, *arguments)
        gate.leave()
    except BaseException:
        traceback.print_exc()
        gate.abort()
        raise


def _start(processes: int, work: Callable[..., None], arguments: tuple[Any, ...]) -> tuple[Gate, list]:
    gate = Gate(processes)
    children = [
        _context.Process(target=_guarded, args=(work, place, gate, arguments), daemon=False)
        for place in range(processes)
    ]
    for child in children:
        child.start()
    return gate, children


def _kill(children: list) -> None:
    """End the workers and their own workers, or those would help in what is measured next."""
    for pid in _family([child.pid for child in children]):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for child in children:
        child.join()


def _family(pids: list[int]) -> list[int]:
    """These processes and all that they have started, as far as /proc tells."""
    begun_by: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            begun_by.setdefault(parent, []).append(int(stat.parent.name))
    family = list(pids)
    for pid in family:
        family += begun_by.get(pid, [])
    return family


def seconds_together(processes: int, work: Callable[..., None], *arguments: Any) -> float:
    """Run `work(place, gate, *arguments)` in each process; it calls `gate.wait()` when it is ready to begin."""
    gate, children = _start(processes, work, arguments)
    try:
        gate.wait()
        begun = time.perf_counter()
        gate.leave()
        taken = time.perf_counter() - begun
        for child in children:
            child.join(10)
    except BrokenBarrierError:
        raise RuntimeError("a worker process died; its traceback is above") from None
    finally:
        _kill(children)
    return taken


def seconds_until_drained(
    processes: int, work: Callable[..., None], left: Callable[[], bool], *arguments: Any
) -> float:
    """The same for workers that never return: the clock stops when `left()` says nothing is, then they are killed."""
    gate, children = _start(processes, work, arguments)
    try:
        gate.wait()
        begun = time.perf_counter()
        while left():
            if time.perf_counter() - begun > PATIENCE:
                raise RuntimeError(f"not drained after {PATIENCE} s")
            if not any(child.is_alive() for child in children):
                raise RuntimeError("every worker process died; their tracebacks are above")
            time.sleep(0.01)
        return time.perf_counter() - begun
    except BrokenBarrierError:
        raise RuntimeError("a worker process died; its traceback is above") from None
    finally:
        _kill(children)
