"""
Orders: what a test tells a step to do, in this process (a hook) or in any process (an order on the row).

A hook is a function of the job; a forked child inherits it. An order is a word and its arguments, as
`{"two": "touch /tmp/began; until /tmp/go"}`: it travels with the row.
"""

import os
import time
from pathlib import Path

from durable import Refused, Wait

#: Step name → what this process does there, given the job; its answer is the step's.
HOOKS = {}


def obey(job, step: str):
    """Do what the test asked of that step; return what the step returns."""
    answer = HOOKS[step](job) if step in HOOKS else None
    for order in filter(None, job.orders.get(step, "").split(";")):
        _obey(order.split())
    return answer


def write_line(path: str, line: str) -> None:
    """Append one line, whole, in a file that outlives whoever writes it."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def _obey(order: list[str]) -> None:
    match order:
        case ["touch", path]:
            Path(path).touch()
        case ["until", path]:
            while not Path(path).exists():
                time.sleep(0.01)
        case ["line", path, *words]:
            write_line(path, " ".join(words))
        case ["fail", *words]:
            raise ValueError(" ".join(words))
        case ["refuse", *words]:
            raise Refused(" ".join(words))
        case ["wait", seconds]:
            raise Wait(float(seconds), "not yet")
        case ["exit", code]:
            raise SystemExit(int(code))
        case ["interrupt"]:
            raise KeyboardInterrupt
