"""
Results: what the tests saw, kept in `var/reliability/` for docs/reliability.md, and shown at the end of the run.
"""

import datetime as dt
import json
import statistics
from pathlib import Path
from typing import Any

from .workers import ROOT

FOLDER = ROOT / "var" / "reliability"


def keep(section: str, name: str, **facts: Any) -> None:
    """Keep what one test saw, in the place of what it saw before."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{section}.{name}.json"
    found = {"section": section, "name": name, "on": f"{dt.date.today():%Y-%m-%d}", **facts}
    path.write_text(json.dumps(found, indent=1))
    print(f"\n{section} | {name} | " + ", ".join(f"{key} {value}" for key, value in facts.items()))


def spread(seconds: list[float]) -> dict[str, float]:
    """Return count, median and worst of measured times."""
    return {"count": len(seconds), "median_s": round(statistics.median(seconds), 2), "worst_s": round(max(seconds), 2)}


def load(section: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(Path(FOLDER).glob(f"{section}.*.json"))]
