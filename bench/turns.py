"""
How a turn of each workload is played, and that the work was really done: a turn whose count is wrong has no figures.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from bench.contender import Contender
from bench.counting import server_counters
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


def in_flight(contender: Contender, url: str, size: Size) -> dict[str, float]:
    figures, total = {}, 0
    for flights in size["flights"]:
        n = size["n"] * flights
        figures[f"{flights} in flight"] = n / contender.run(n, flights)["done"]
        total += n
        _expect("effects", total * STEPS, _effects(url))
        _expect("settled operations", total, contender.done())
    return figures


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
    The difference between many operations and few, so that connecting and preparing cost nothing.

    A pause lies before each reading, as a session tells the server its counters when it ends. What the server does by
    itself meanwhile (a checkpoint, a vacuum) falls on one round of several.
    """
    contender.latency(20)
    few = _spent(contender, url, size["n"])
    many = _spent(contender, url, 2 * size["n"])
    return {name: (many[name] - few[name]) / size["n"] for name in few}


def _spent(contender: Contender, url: str, n: int) -> dict[str, int]:
    time.sleep(0.5)
    before = server_counters(url)
    contender.latency(n)
    time.sleep(0.5)
    return (server_counters(url) - before).as_dict()


TURNS: Mapping[str, Callable[[Any, str, Size], dict[str, float]]] = {
    "W1": steps,
    "W2": outbox,
    "W3": scenario,
    "W4": scenario,
    "W5": scenario,
    "W6": scenario,
    "W9": counted,
    "W10": in_flight,
}
