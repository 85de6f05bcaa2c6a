"""
Where somebody is ahead of us, found in the figures, and why, written by hand: the one text of the page that is.

A reason is shown only where the loss was seen. Whoever is ahead without a reason here stands in the table all the same.
"""

from collections.abc import Mapping
from typing import Any

from bench.catalogue import CONTENDERS
from bench.figures import ratio
from bench.targets import BATCH, DEFAULT, middle
from bench.workloads import METRICS

__all__ = ["losses"]

Parts = Mapping[str, Mapping[str, Any]]
NOISE = 1.05  # whoever is ahead by less is not told from us
TEXT = """Everybody who is ahead of *durable* in some column by more than 5 %, peers first; whoever completes messages in
batches is held against our batch handler. What the floors do without is our price."""
UNKNOWN = "not explained yet (`bench/losses.py`)"
WHY: Mapping[tuple[str, str], str] = {}


def losses(parts: Parts) -> str:
    """The table of those who are ahead, as Markdown; nothing where nobody is."""
    rows = {"peer": [], "floor": []}
    for code, part in parts.items():
        for name in part["figures"]:
            group = CONTENDERS[name].group
            if group in rows and (ahead := _ahead(parts, code, name)):
                by = ", ".join(f"{metric} {times:.2f} ×" for metric, times in ahead.items())
                rows[group].append(f"| {code} | {name} | {by} | {WHY.get((code, name), UNKNOWN)} |")
    if not any(rows.values()):
        return ""
    table = ["| | who is ahead | by | why |", "|---|---|---|---|", *rows["peer"], *rows["floor"]]
    return "\n".join(["## Where we lose, and why", "", *TEXT.splitlines(), "", *table])


def _ahead(parts: Parts, code: str, name: str) -> dict[str, float]:
    """In which columns this contender is ahead of us, and how many times."""
    ours = BATCH if code == "W2" and not CONTENDERS[name].by_itself else DEFAULT
    found = {}
    for metric in METRICS[code].values():
        theirs, mine = (middle(parts, code, contender, metric.name) for contender in (name, ours))
        if theirs and mine and (times := ratio(theirs, mine, better=metric.better) or 0) > NOISE:
            found[metric.name] = times
    return found
