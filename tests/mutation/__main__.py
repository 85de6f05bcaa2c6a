"""
`python -m tests.mutation`: break the contract in one place at a time; for each, a named test must go red.

Prints a table. Exits 1 if a mutant survives, is stale, or if the tests are not green without any.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from tests.postgres import start_server

from .mutants import MUTANTS, NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one mutant."""

    name: str
    ok: bool
    by: str  # the test that went red, or what is wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MUTANT", help="only these (default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    options = parser.parse_args()
    unknown = set(options.names) - MUTANTS.keys()
    if unknown:
        parser.error(f"no such mutant: {', '.join(sorted(unknown))}; there are: {', '.join(MUTANTS)}")

    began = time.monotonic()
    url = os.environ.get("DATABASE_URL") or start_server()
    chosen = options.names or [name for name in MUTANTS if name != NOTHING]
    tests = sorted({test for name in chosen for test in MUTANTS[name].tests})
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        healthy = pool.submit(_judge, NOTHING, tests, url, 0)
        verdicts = [pool.submit(_judge, name, MUTANTS[name].tests, url, n + 1) for n, name in enumerate(chosen)]
        width, found = max(map(len, chosen)), []
        for verdict in concurrent.futures.as_completed(verdicts):
            found.append(verdict.result())
            ok, name, by = found[-1].ok, found[-1].name, found[-1].by
            print(f"{'red  ' if ok else 'GREEN'} {name:<{width}}  {by}", flush=True)
    survivors = [verdict.name for verdict in found if not verdict.ok]
    health = healthy.result()
    print(f"\n{len(found) - len(survivors)} of {len(found)} mutants found in {time.monotonic() - began:.0f} s.")
    if not health.ok:
        print(f"The tests are not green without a mutant: {health.by}")
    if survivors:
        print(f"Not found: {', '.join(survivors)}")
    return int(bool(survivors) or not health.ok)


def _judge(name: str, tests: list[str] | tuple[str, ...], url: str, number: int) -> Verdict:
    parts = urlsplit(url)
    again = {} if name == NOTHING else {"PYTEST_ADDOPTS": ""}  # a mutant's test that went red needs no second try
    own = urlunsplit(parts._replace(path=f"/mutant_{os.getpid()}_{number}"))
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "tests.mutation.patching",
         *tests],
        env=os.environ | {"MUTANT": name, "DATABASE_URL": own, "PYTHONDONTWRITEBYTECODE": "1"} | again,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    red = re.findall(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    if name == NOTHING:
        return Verdict(name=name, ok=run.returncode == 0, by=", ".join(red) or run.stdout[-500:] + run.stderr[-500:])
    if run.returncode == 1 and red:
        return Verdict(name=name, ok=True, by=red[0].removeprefix("tests/"))
    if run.returncode == 0:
        return Verdict(name=name, ok=False, by="no test noticed")
    return Verdict(name=name, ok=False, by=(run.stderr.strip() or run.stdout.strip())[-200:])


if __name__ == "__main__":
    sys.exit(main())
