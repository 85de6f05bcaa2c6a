"""
The interleaving: every round plays every contender once, in an order that turns with the round.

A slow minute of the machine then falls on everybody. A contender that fails keeps its reason and is not asked again.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.catalogue import CONTENDERS, Entrant
from bench.contender import Unable
from bench.server import Server
from bench.venvs import ROOT, interpreter, versions
from bench.workloads import PEERS, WORKLOADS

__all__ = ["Results", "play", "takes_part"]

TURN_LIMITS = {"tiny": 120, "small": 400, "full": 3_600}  # seconds


@dataclass(slots=True)
class Results:
    """Everything one run of the bench found out; kept as JSON."""

    figures: dict[str, dict[str, dict[str, list[float]]]] = field(default_factory=dict)  # workload, contender, metric
    absent: dict[str, dict[str, str]] = field(default_factory=dict)  # workload, contender → reason
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    minutes: dict[str, float] = field(default_factory=dict)  # what each workload has taken

    def add(self, workload: str, contender: str, figures: dict[str, float]) -> None:
        kept = self.figures.setdefault(workload, {}).setdefault(contender, {})
        for metric, value in figures.items():
            kept.setdefault(metric, []).append(value)

    def leave_out(self, workload: str, contender: str, reason: str) -> None:
        self.absent.setdefault(workload, {})[contender] = reason


def play(
    server: Server,
    *,
    workloads: Iterable[str],
    contenders: Iterable[str],
    rounds: int,
    scale: str,
    folder: Path,
    say: Callable[[str], None],
    keep: Callable[[Results], None],
) -> Results:
    """Play all rounds and return what was measured. Keep it after every turn: a run that is ended early has results."""
    results = Results()
    pythons = {name: python for name in contenders if (python := _python(CONTENDERS[name], results, say))}
    for code in workloads:
        begun = time.monotonic()
        entrants = [CONTENDERS[name] for name in pythons if code in CONTENDERS[name].places]
        for name in contenders:
            if name not in pythons and code in CONTENDERS[name].places:
                results.leave_out(code, name, results.absent["install"][name])
        for number in range(rounds):
            turn = number % len(entrants) if entrants else 0
            for entrant in entrants[turn:] + entrants[:turn]:
                if entrant.name in results.absent.get(code, {}) or not takes_part(entrant, code, scale, number, rounds):
                    continue
                answer = _turn(server, entrant, pythons[entrant.name], code, scale, folder)
                if "unable" in answer:
                    results.leave_out(code, entrant.name, answer["unable"])
                    say(f"{code} {entrant.name}: left out: {answer['unable']}")
                    keep(results)
                    continue
                results.add(code, entrant.name, answer["figures"])
                keep(results)
                told = ", ".join(f"{metric} {value:,.1f}" for metric, value in answer["figures"].items())
                say(f"{code} round {number + 1}/{rounds} {entrant.name}: {told}")
        results.minutes[code] = (time.monotonic() - begun) / 60
        say(f"{code} took {results.minutes[code]:.1f} min")
    results.absent.pop("install", None)
    return results


def takes_part(entrant: Entrant, code: str, scale: str, number: int, rounds: int) -> bool:
    """Whether it plays in that round, counted from 0: peers may play in some of them, spread over the run."""
    plays = rounds
    if entrant.group == "peer":
        plays = min(WORKLOADS[code].scales[scale].get(PEERS, rounds), rounds)
    return number in {turn * rounds // plays for turn in range(plays)}


def _python(entrant: Entrant, results: Results, say: Callable[[str], None]) -> str | None:
    try:
        python = interpreter(entrant)
    except (Unable, OSError, subprocess.TimeoutExpired) as reason:
        results.leave_out("install", entrant.name, str(reason))
        say(f"{entrant.name}: {reason}")
        return None
    named = {"python", "django", *(re.split(r"[\[<>=]", package)[0] for package in entrant.packages)}
    results.versions[entrant.name] = {name: version for name, version in versions(python).items() if name in named}
    return python


def _turn(server: Server, entrant: Entrant, python: str, code: str, scale: str, folder: Path) -> dict[str, Any]:
    database = "bench_" + re.sub(r"[^a-z0-9]+", "_", f"{code}_{entrant.name}".lower())
    url = server.fresh_database(database)
    order = {"workload": code, "place": entrant.places[code], "url": url, "size": _size(entrant, code, scale)}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    log = folder / f"{database}.log"
    server.settle()
    with log.open("a") as errors:
        child = subprocess.Popen(
            [python, "-m", "bench.child", json.dumps(order)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        try:
            output, _ = child.communicate(timeout=TURN_LIMITS[scale])
        except subprocess.TimeoutExpired:
            return {"unable": f"not done after {TURN_LIMITS[scale]} s"}
        finally:
            _end_session(child.pid)
            child.wait()
            server.drop_database(database)
        errors.write(output)
    try:
        return json.loads(output.splitlines()[-1])
    except (IndexError, ValueError):
        return {"unable": f"died with exit code {child.returncode}; see {log.name}"}


def _size(entrant: Entrant, code: str, scale: str) -> dict[str, Any]:
    """How much this contender does: whoever is slow a part of it, as all that is shown is rates."""
    size = dict(WORKLOADS[code].scales[scale])
    if share := entrant.share.get(code):
        size["n"] = round(size["n"] * share)
    return size


def _end_session(session: int) -> None:
    """Kill what a turn has left running: workers of workers, whatever process groups they made."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)
