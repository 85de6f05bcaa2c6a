"""The targets of the project, each beside what was seen: computed from the medians of the kept figures, never typed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.catalogue import CONTENDERS
from bench.figures import Figure, number

__all__ = ["middle", "targets"]

Parts = Mapping[str, Mapping[str, Any]]
DEFAULT, PREPARED, BATCH = "durable", "durable with prepared statements", "durable with a batch handler"
THREADS = "durable in four threads"
RUN_STEPS = ("DBOS", "Absurd")  # the peers whose item is an operation of steps, as ours is


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`seen(parts, ours)` is the figure of one of us and what it was held against, or None where something is missing."""

    code: str
    says: str
    bound: float
    seen: Callable[[Parts, str], tuple[float, str] | None]
    unit: str = " ×"
    at_most: bool = False
    ours: Sequence[str] = (DEFAULT,)  # the first that was measured is judged; the others are shown beside it


def middle(parts: Parts, code: str, contender: str, metric: str) -> float | None:
    """The median of a figure, or None where it was not measured."""
    values = parts.get(code, {}).get("figures", {}).get(contender, {}).get(metric)
    return Figure.of(values).middle if values else None


def _over(code: str, metric: str, *others: str) -> Callable[[Parts, str], tuple[float, str] | None]:
    """Our rate over the best rate of these others."""

    def seen(parts: Parts, ours: str) -> tuple[float, str] | None:
        mine = middle(parts, code, ours, metric)
        rates = [(rate, name) for name in others if (rate := middle(parts, code, name, metric))]
        if not mine or not rates:
            return None
        rate, name = max(rates)
        return mine / rate, f"{number(mine)} beside {number(rate)} of {name}"

    return seen


def _boot_over(*others: str) -> Callable[[Parts, str], tuple[float, str] | None]:
    """Our time for the boot pass as a part of the best time of these others."""

    def seen(parts: Parts, ours: str) -> tuple[float, str] | None:
        mine = middle(parts, "W4", ours, "100 runs resumed")
        times = [(time, name) for name in others if (time := middle(parts, "W4", name, "100 runs resumed"))]
        if not mine or not times:
            return None
        time, name = min(times)
        return mine / time, f"{number(mine)} ms beside {number(time)} ms of {name}"

    return seen


def _dearer(metric: str) -> Callable[[Parts, str], tuple[float, str] | None]:
    """How much more a claim and its completion cost there than with ten thousand due."""

    def seen(parts: Parts, ours: str) -> tuple[float, str] | None:
        few, many = (middle(parts, "W3", ours, name) for name in ("10 k due", metric))
        if not few or not many:
            return None
        settled = parts["W3"]["size"]["settled"]
        return few / many, f"{number(few)} and {number(many)} runs/s beside {settled:,} settled".replace(",", " ")

    return seen


def _figure(code: str, metric: str) -> Callable[[Parts, str], tuple[float, str] | None]:
    def seen(parts: Parts, ours: str) -> tuple[float, str] | None:
        mine = middle(parts, code, ours, metric)
        return None if mine is None else (mine, "")

    return seen


def _all() -> Iterator[Target]:
    peers = [entrant for entrant in CONTENDERS.values() if entrant.group == "peer"]
    names = [entrant.name for entrant in peers]
    each = [entrant.name for entrant in peers if entrant.by_itself]
    for count in ("1 process", "4 processes"):
        both = {"code": "W1", "ours": (DEFAULT, PREPARED)}
        yield Target(says=f"the psycopg loop, {count}", bound=0.8, seen=_over("W1", count, "psycopg"), **both)
        # Each peer is measured with as many in flight in a process as serve it best; so are we, there.
        many = {**both, "ours": (THREADS, DEFAULT, PREPARED)}
        yield Target(says=f"the fastest peer, {count}", bound=1.3, seen=_over("W1", count, *names), **many)
        yield Target(says=f"DBOS, {count}", bound=10, seen=_over("W1", count, "DBOS"), **both)
    for count in ("drain, 1 process", "drain, 2 processes"):
        yield Target(code="W2", says=f"psycopg one by one, {count}", bound=0.8, seen=_over("W2", count, "psycopg"))
        says = f"every peer that completes each message durably, {count}"
        yield Target(code="W2", says=says, bound=1, seen=_over("W2", count, *each))
        batch = {"code": "W2", "ours": (BATCH,)}
        yield Target(says=f"PgQueuer, batches, {count}", bound=1, seen=_over("W2", count, "PgQueuer"), **batch)
        says = f"in batches, {count}"
        yield Target(says=says, bound=10_000, unit=" messages/s", seen=_figure("W2", count), **batch)
    # Who drains in batches posts as many messages as the floor that copies; the others a quarter of that.
    many = {"code": "W2", "ours": (BATCH, DEFAULT)}
    yield Target(says="COPY, enqueue in bulk", bound=0.5, seen=_over("W2", "enqueue", "psycopg in hundreds"), **many)
    for metric in ("1 M due", "1 M due, no statistics"):
        says = f"the cost with 10 k due, {metric}"
        yield Target(code="W3", says=says, bound=1.2, at_most=True, seen=_dearer(metric))
    yield Target(code="W4", says="the time of the minimal SQL", bound=4, at_most=True, seen=_boot_over("psycopg"))
    says = "the time of every peer that runs steps"
    yield Target(code="W4", says=says, bound=1, at_most=True, seen=_boot_over(*RUN_STEPS))
    yield Target(code="W5", says="p50 to the first step", bound=10, unit=" ms", at_most=True, seen=_figure("W5", "p50"))
    for metric, bound in (("statements", 21), ("commits", 6)):
        says = f"{metric} of five steps"
        yield Target(code="W9", says=says, bound=bound, unit="", at_most=True, seen=_figure("W9", metric))
    says, ours = "pgbench with 16 clients, 16 threads of one process", (DEFAULT, PREPARED)
    yield Target(code="W10", says=says, bound=0.6, seen=_over("W10", "16 in flight", "pgbench"), ours=ours)


def targets(parts: Parts) -> str:
    """The table of targets, as Markdown."""
    lines = ["## Targets", "", "| | target | seen | reached |", "|---|---|---|---|"]
    for target in _all():
        sign = "≤" if target.at_most else "≥"
        bound = f"{target.bound:,}".replace(",", " ")
        found = [(ours, seen) for ours in target.ours if (seen := target.seen(parts, ours))]
        shown = "; ".join(_seen(target, ours, *seen, judged=ours == found[0][0]) for ours, seen in found)
        lines.append(
            f"| {target.code} | {sign} {bound}{target.unit} {target.says} | {shown or '–'} | {_reached(target, found)} |"
        )
    return "\n".join(lines)


def _seen(target: Target, ours: str, value: float, beside: str, *, judged: bool) -> str:
    name = "" if judged else f"{ours.removeprefix('durable ')}: "
    return f"{name}**{number(value)}{target.unit}**" + (f" ({beside})" if beside else "")


def _reached(target: Target, found: Sequence[tuple[str, tuple[float, str]]]) -> str:
    if not found:
        return "not measured"
    kept = [ours for ours, (value, _) in found if (value <= target.bound if target.at_most else value >= target.bound)]
    if found[0][0] in kept:
        return "yes"
    return f"only {kept[0].removeprefix('durable ')}" if kept else "no"
