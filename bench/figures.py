"""Medians, spreads, percentiles and ratios: the arithmetic of the report, and nothing else."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["Figure", "number", "percentile", "ratio"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One metric of one contender over the rounds."""

    middle: float
    least: float
    most: float
    rounds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Figure":
        if not values:
            raise ValueError("a figure needs at least one round")
        return cls(middle=median(values), least=min(values), most=max(values), rounds=len(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values do not exceed (nearest rank)."""
    if not values:
        raise ValueError("a percentile needs at least one value")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def ratio(ours: float, floor: float, *, better: str) -> float | None:
    """How much of the floor is reached: 1.0 is equal, above is better, whichever way the metric points."""
    if ours <= 0 or floor <= 0:
        return None
    return ours / floor if better == "higher" else floor / ours


def number(value: float) -> str:
    """Three digits that mean something, no more."""
    if value >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
