"""
What is kept of a run: for each workload the figures of every round with the machine, the versions and the settings.

Each workload is whole by itself, so that one of them can be measured again and put in the place of its last figures.
"""

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.rounds import Results
from bench.workloads import WORKLOADS

__all__ = ["circumstances", "parts"]


def circumstances(*, server: dict[str, str], rounds: int, scale: str, neighbours: float) -> dict[str, Any]:
    """What all workloads of a run have in common; asked once, before the first."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "rounds": rounds,
        "scale": scale,
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.release().split('-')[0]}",
            "python": platform.python_version(),
        },
        "flush_microseconds": flush_microseconds(),
        "neighbours": neighbours,
        "server": server,
    }


def parts(results: Results, common: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each workload's record by its code."""
    return {
        code: {
            **common,
            "size": dict(WORKLOADS[code].scales[common["scale"]]),
            "versions": {name: results.versions[name] for name in figures},
            "minutes": results.minutes.get(code),  # None as long as it goes on
            "figures": figures,
            "absent": results.absent.get(code, {}),
        }
        for code, figures in results.figures.items()
    }


def flush_microseconds() -> float:
    """How long the disk takes to make 8 kB durable, median of 200: what each commit waits for at least."""
    taken = []
    with tempfile.TemporaryFile() as file:
        for _ in range(200):
            file.seek(0)
            file.write(b"\0" * 8192)
            file.flush()
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e6


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "an unknown processor"
