"""The report of one run: a Markdown table a workload, ratios first, and everything that was left out with its reason."""

from collections.abc import Mapping
from typing import Any

from bench.catalogue import CONTENDERS
from bench.figures import Figure, ratio
from bench.workloads import WORKLOADS, Workload

__all__ = ["markdown", "number"]


def number(value: float) -> str:
    """Three digits that mean something, no more."""
    if value >= 100:
        return f"{value:,.0f}".replace(",", " ")  # noqa: RUF001 – a narrow space between thousands
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def markdown(record: Mapping[str, Any]) -> str:
    """The whole page, from the record that is kept as JSON."""
    parts = [_head(record)]
    for code, figures in record["figures"].items():
        parts.append(_workload(WORKLOADS[code], figures, record["absent"].get(code, {}), record))
    for code, absent in record["absent"].items():
        if code not in record["figures"]:
            parts.append(_workload(WORKLOADS[code], {}, absent, record))
    return "\n\n".join(parts) + "\n"


def _head(record: Mapping[str, Any]) -> str:
    machine, server = record["machine"], record["server"]
    return (
        f"Measured {record['date']} on {machine['processor']}, {machine['cores']} cores, {machine['system']}; "
        f"PostgreSQL {server['server_version']}, fsync {server['fsync']}, synchronous_commit {server['synchronous_commit']}, "
        f"one flush {number(record['flush_microseconds'])} µs. {record['rounds']} interleaved rounds, scale `{record['scale']}`. "
        "A cell is the ratio to the floor of that column (above 1 is better than the floor, whichever way the metric points), "
        "then the median and (least–most)."
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
        lines.append(f"| {name} | " + " | ".join("–" for _ in workload.metrics) + f" | not measured: {reason} |")  # noqa: RUF001
    return "\n".join(lines)


def _cell(values: list[float] | None, floor: list[float] | None, better: str) -> str:
    if not values:
        return "–"  # noqa: RUF001
    figure = Figure.of(values)
    reached = ratio(figure.middle, Figure.of(floor).middle, better=better) if floor else None
    spread = f"{number(figure.middle)} ({number(figure.least)}–{number(figure.most)})"  # noqa: RUF001
    return spread if reached is None else f"**{reached:.2f}** · {spread}"


def _version(name: str, record: Mapping[str, Any]) -> str:
    packages = CONTENDERS[name].packages
    if not packages:
        return ""
    plain = packages[0].split("[")[0].split(">")[0].split("=")[0]
    found = {key.lower().replace("_", "-"): value for key, value in record["versions"].get(name, {}).items()}
    return f" {found[plain]}" if plain in found else ""
