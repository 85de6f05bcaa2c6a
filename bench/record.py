"""What is kept of a run: the figures of every round with the machine, the versions and the server's settings."""

import os
import platform
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.rounds import Results

__all__ = ["flush_microseconds", "neighbours", "record"]


def record(
    results: Results, *, server: dict[str, str], rounds: int, scale: str, flush: float, neighbours: float
) -> dict[str, Any]:
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
        "flush_microseconds": flush,
        "neighbours": neighbours,
        "server": server,
        "versions": results.versions,
        "figures": results.figures,
        "absent": results.absent,
    }


def neighbours() -> float:
    """What else the machine is busy with before we begin: processes waiting or running, averaged over a minute."""
    return os.getloadavg()[0]


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
