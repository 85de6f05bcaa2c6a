"""
How a turn of each workload is played, and that the work was really done: a turn whose count is wrong has no figures.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from bench.contender import Contender
from bench.counting import log_statements, server_counters
from bench.figures import percentile
from bench.work import STEPS

__all__ = ["TURNS"]

Size = Mapping[str, Any]


class WrongCount(Exception):
    """Effects or completions are missing or too many: the contender did not do the work that is measured."""


def _processes(count: int) -> str:
    return f"{count} process" if count == 1 else f"{count} processes"


def _expect(what: str, expected: int, found: int) -> None:
    if found != expected:
        raise WrongCount(f"{found} {what}, {expected} expected")


def _effects(url: str) -> int:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT count(*) FROM bench_effect").fetchone()[0]


def steps(contender: Contender, url: str, size: Size) -> dict[str, float]:
    figures, total = {}, 0
    for processes in size["processes"]:
        n = size["n"] // processes * processes
        figures[_processes(processes)] = n / contender.run(n, processes)["done"]
        total += n
        _expect("effects", total * STEPS, _effects(url))
        _expect("settled operations", total, contender.done())
    taken = contender.latency(size["alone"])
    _expect("effects", (total + size["alone"]) * STEPS, _effects(url))
    return {**figures, "p50 alone": percentile(taken, 0.5) * 1e3, "p99 alone": percentile(taken, 0.99) * 1e3}


def outbox(contender: Contender, url: str, size: Size) -> dict[str, float]:
    figures, total = {}, 0
    for processes in size["processes"]:
        phases = contender.run(size["n"], processes)
        total += size["n"]
        _expect("completed messages", total, contender.done())
        if "enqueue" in phases:
            figures["enqueue"] = max(figures.get("enqueue", 0), size["n"] / phases["enqueue"])
        if "drain" in phases:
            figures[f"drain, {_processes(processes)}"] = size["n"] / phases["drain"]
    return figures


def scenario(contender: Any, url: str, size: Size) -> dict[str, float]:
    """W3 to W6: the contender plays the scenario itself and returns the metrics by name."""
    return contender.figures(size)


def counted(contender: Contender, url: str, size: Size) -> dict[str, float]:
    """
    The difference between many operations and few, so that connecting, preparing and looking cost nothing.

    A pause lies before each reading: a session tells the server its counters late, when it has been idle.
    """
    log_statements(url)
    readings = [server_counters(url)]
    for n in (20, 20 + size["n"]):
        contender.latency(n)
        time.sleep(1.5)
        readings.append(server_counters(url))
    few, many = readings[1] - readings[0], readings[2] - readings[1]
    return {name: value / size["n"] for name, value in (many - few).as_dict().items()}


TURNS: Mapping[str, Callable[[Any, str, Size], dict[str, float]]] = {
    "W1": steps,
    "W2": outbox,
    "W3": scenario,
    "W4": scenario,
    "W5": scenario,
    "W6": scenario,
    "W9": counted,
}
