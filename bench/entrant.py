"""Who takes part, as it is listed: where its code is, what it promises, what it needs installed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["FAST", "SLOW", "Entrant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    name: str
    group: str  # "floor", "ours" or "peer"
    guarantee: str
    places: Mapping[str, str]  # workload → "module:Class"
    packages: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 11)  # the least it runs on
    needs: str = field(default="")  # a program that must be on PATH
    by_itself: bool = True  # completions are written one by one, not gathered
    share: Mapping[str, float] = field(default_factory=dict)  # of a workload's n: who is slow does less of it


SLOW = {"W1": 0.25, "W2": 0.25}
FAST = {"W2": 4.0}
