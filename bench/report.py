"""The report of one run: a Markdown table a workload, ratios first; what was left out stands there with its reason."""

from collections.abc import Mapping
from typing import Any

from bench.catalogue import CONTENDERS
from bench.figures import Figure, ratio
from bench.workloads import WORKLOADS, Workload

__all__ = ["markdown", "number"]

NOTHING = "–"


def number(value: float) -> str:
    """Three digits that mean something, no more."""
    if value >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def markdown(record: Mapping[str, Any]) -> str:
    """The whole page, from the record that is kept as JSON."""
    parts = [_head(record)]
    for code, workload in WORKLOADS.items():
        figures, absent = record["figures"].get(code, {}), record["absent"].get(code, {})
        if figures or absent:
            parts.append(_workload(workload, figures, absent, record))
    return "\n\n".join(parts) + "\n"


def _head(record: Mapping[str, Any]) -> str:
    machine, server = record["machine"], record["server"]
    return (
        f"Measured {record['date']} on {machine['processor']}, {machine['cores']} cores, {machine['system']}; "
        f"PostgreSQL {server['server_version']}, fsync {server['fsync']}, "
        f"synchronous_commit {server['synchronous_commit']}, one flush {number(record['flush_microseconds'])} µs. "
        f"{record['rounds']} interleaved rounds, scale `{record['scale']}`, "
        f"load before it {record['neighbours']:.1f}. "
        "A cell is the ratio to the floor of that column (above 1 is better than the floor, whichever way the metric "
        "points), then the median and (least–most)."
    )


def _workload(
    workload: Workload,
    figures: Mapping[str, Mapping[str, list[float]]],
    absent: Mapping[str, str],
    record: Mapping[str, Any],
) -> str:
    floor = figures.get(workload.floor, {})
    lines = [
        f"## {workload.code}. {workload.title}",
        "",
        f"One item: {workload.item}. The floor is *{workload.floor}*.",
        "",
        "| contender | "
        + " | ".join(f"{metric.name} ({metric.unit})" for metric in workload.metrics)
        + " | guarantee |",
        "|---|" + "--:|" * len(workload.metrics) + "---|",
    ]
    for name, metrics in figures.items():
        cells = [_cell(metrics.get(metric.name), floor.get(metric.name), metric.better) for metric in workload.metrics]
        shown = f"**{name}**" if CONTENDERS[name].group == "ours" else name
        lines.append(f"| {shown}{_version(name, record)} | " + " | ".join(cells) + f" | {CONTENDERS[name].guarantee} |")
    for name, reason in absent.items():
        cells = [NOTHING] * len(workload.metrics)
        lines.append(f"| {name} | " + " | ".join(cells) + f" | not measured: {_first_line(reason)} |")
    return "\n".join(lines)


def _first_line(reason: str) -> str:
    lines = reason.strip().splitlines() or ["no reason given"]
    return lines[0].replace("|", "/")


def _cell(values: list[float] | None, floor: list[float] | None, better: str) -> str:
    if not values:
        return NOTHING
    figure = Figure.of(values)
    reached = ratio(figure.middle, Figure.of(floor).middle, better=better) if floor else None
    spread = f"{number(figure.middle)} ({number(figure.least)}–{number(figure.most)})"
    return spread if reached is None else f"**{reached:.2f}** · {spread}"


def _version(name: str, record: Mapping[str, Any]) -> str:
    packages = CONTENDERS[name].packages
    if not packages:
        return ""
    plain = packages[0].split("[")[0].split(">")[0].split("=")[0]
    found = {key.lower().replace("_", "-"): value for key, value in record["versions"].get(name, {}).items()}
    return f" {found[plain]}" if plain in found else ""
