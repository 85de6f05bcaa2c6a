"""
The chart: one horizontal bar a contender, its length the ratio to the floor, in plain SVG without any dependency.

It follows the reader's colour scheme, and says the number beside each bar, so colour carries nothing alone.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

from bench.catalogue import CONTENDERS
from bench.figures import Figure, ratio
from bench.workloads import METRICS, WORKLOADS

__all__ = ["svg"]

ROW, LEFT, WIDTH = 22, 230, 760
STYLE = """
text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.quiet{fill:#59636e}
.floor{fill:#8c959f}.ours{fill:#0969da}.peer{fill:#bf8700}.line{stroke:#59636e;stroke-dasharray:3 3}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}
.floor{fill:#656c76}.ours{fill:#4493f8}.peer{fill:#d29922}.line{stroke:#9198a1}}
"""


def svg(part: Mapping[str, Any], code: str, metric: str) -> str:
    """The bars of one metric of one workload, longest first; empty text where nothing was measured."""
    floor_name, better = WORKLOADS[code].floor, METRICS[code][metric].better
    figures = part["figures"]
    if metric not in figures.get(floor_name, {}):
        return ""
    floor = Figure.of(figures[floor_name][metric]).middle
    bars = sorted(
        (
            (ratio(Figure.of(metrics[metric]).middle, floor, better=better) or 0.0, name)
            for name, metrics in figures.items()
            if metric in metrics
        ),
        reverse=True,
    )
    scale = (WIDTH - LEFT - 60) / max(1.0, bars[0][0])
    height = 44 + ROW * len(bars)
    title = f"{code}. {WORKLOADS[code].title}, {metric}: ratio to {floor_name}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"',
        f' aria-label="{escape(title)}">',
        f"<style>{STYLE.strip()}</style>",
        f'<text class="title" x="0" y="16">{escape(title)}</text>',
    ]
    for row, (reached, name) in enumerate(bars):
        top = 30 + row * ROW
        length = max(1.0, reached * scale)
        lines += [
            f'<text x="{LEFT - 8}" y="{top + 14}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{CONTENDERS[name].group}" x="{LEFT}" y="{top + 3}"',
            f' width="{length:.1f}" height="{ROW - 7}" rx="2"/>',
            f'<text class="quiet" x="{LEFT + length + 6:.1f}" y="{top + 14}">{reached:.2f}</text>',
        ]
    one = LEFT + scale
    lines.append(f'<line class="line" x1="{one:.1f}" x2="{one:.1f}" y1="28" y2="{height - 12}"/>')
    return "\n".join([*lines, "</svg>", ""])
