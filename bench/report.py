"""
The page, from what is kept of the runs: targets, losses, then a section a workload, ratios first.

Each workload's record is whole by itself (see `record.py`); where all are of one run, the machine is named once.
"""

from collections.abc import Collection, Mapping
from typing import Any

from bench.catalogue import CONTENDERS
from bench.elsewhere import SECTIONS
from bench.figures import Figure, number, ratio
from bench.losses import losses
from bench.targets import targets
from bench.workloads import WORKLOADS, Workload

__all__ = ["page"]

Part = Mapping[str, Any]
NOTHING = "–"
CELLS = (
    "A cell is the ratio to the floor of that column (above 1 is better than the floor, whichever way the metric points), "
    "then the median and (least–most)."
)


def page(parts: Mapping[str, Part], charts: Collection[str] = ()) -> str:
    """Everything below the title. `parts`: a workload's code → its record; `charts`: the codes that have one."""
    measured = {code: parts[code] for code in WORKLOADS if code in parts}
    told = {code: _circumstances(part) for code, part in measured.items()}
    one_run = len(set(told.values())) == 1
    texts = [f"{told[next(iter(told))]} {CELLS}" if one_run else CELLS] if measured else []
    texts += [targets(measured), losses(measured)]
    for code in sorted(parts, key=lambda code: int(code[1:])):
        if code in SECTIONS:
            texts.append(SECTIONS[code](parts[code]))
            continue
        texts.append(_heading(WORKLOADS[code]))
        if code in charts:
            texts.append(f"![{code}](performance/{code.lower()}.svg)")
        texts.append(_item(WORKLOADS[code], parts[code]) + ("" if one_run else f" {told[code]}"))
        texts.append(_table(WORKLOADS[code], parts[code]))
    return "\n\n".join(text for text in texts if text) + "\n"


def _circumstances(part: Part) -> str:
    machine, server = part["machine"], part["server"]
    return (
        f"Measured {part['date']} on {machine['processor']}, {machine['cores']} cores, {machine['system']}; "
        f"PostgreSQL {server['server_version']}, fsync {server['fsync']}, "
        f"synchronous_commit {server['synchronous_commit']}, one flush {number(part['flush_microseconds'])} µs. "
        f"{part['rounds']} interleaved rounds, scale `{part['scale']}`, load before it {part['neighbours']:.1f}."
    )


def _heading(workload: Workload) -> str:
    return f"## {workload.code}. {workload.title}"


def _item(workload: Workload, part: Part) -> str:
    size = ", ".join(f"{name} {_amount(value)}" for name, value in part["size"].items())
    took = f" Measured in {part['minutes']:.0f} min." if part.get("minutes") else ""
    return f"One item: {workload.item}. The floor is *{workload.floor}*. Sizes: {size}.{took}"


def _amount(value: object) -> str:
    if isinstance(value, list):
        return " / ".join(map(_amount, value))
    return f"{value:,}".replace(",", " ")


def _table(workload: Workload, part: Part) -> str:
    figures = part["figures"]
    floor = figures.get(workload.floor, {})
    lines = [
        "| contender | "
        + " | ".join(f"{metric.name} ({metric.unit})" for metric in workload.metrics)
        + " | guarantee |",
        "|---|" + "--:|" * len(workload.metrics) + "---|",
    ]
    for name in (name for name in CONTENDERS if name in figures):
        cells = [
            _cell(figures[name].get(metric.name), floor.get(metric.name), metric.better) for metric in workload.metrics
        ]
        shown = f"**{name}**" if CONTENDERS[name].group == "ours" else name
        lines.append(f"| {shown}{_version(name, part)} | " + " | ".join(cells) + f" | {CONTENDERS[name].guarantee} |")
    for name, reason in part["absent"].items():
        cells = [NOTHING] * len(workload.metrics)
        missing = "not to the end" if name in figures else "not measured"
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {missing}: {_first_line(reason)} |")
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


def _version(name: str, part: Part) -> str:
    packages = CONTENDERS[name].packages
    if not packages:
        return ""
    plain = packages[0].split("[")[0].split(">")[0].split("=")[0]
    found = part["versions"].get(name, {})
    return f" {found[plain]}" if plain in found else ""
