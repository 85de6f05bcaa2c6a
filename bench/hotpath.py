"""
Where the microseconds of one five-step operation go: `python -m bench.hotpath`, for whoever works on the hot path.

Wall clock is the tenth percentile of small batches, so a neighbour's minute does not count; CPU is told apart by client
and server; Python calls, statements and round trips do not depend on the machine at all. `--profile` adds cProfile's
list for our own run.
"""

import argparse
import cProfile
import pstats
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench.counting import cost_of
from bench.figures import percentile
from bench.work import STEPS

__all__ = ["Reading", "measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    name: str
    wall: float  # microseconds an operation, as all times here
    client: float
    server: float
    calls: float  # Python calls a step
    round_trips: int
    wal: int

    def __str__(self) -> str:
        times = f"{self.wall:7.0f} {self.client:7.0f} {self.server:7.0f}"
        return f"{self.name:34} {times} {self.calls:7.0f} {self.round_trips:7} {self.wal:7}"


def measured(name: str, one: Callable[[], Any], connection: Any, batches: int = 60, each: int = 5) -> Reading:
    """Read one way of doing the operation; `connection` is the one that it uses, Django's or psycopg's."""
    for _ in range(20):
        one()
    raw = getattr(connection, "connection", connection)
    with cost_of(connection) as cost:
        one()
    walls, client, server = [], time.process_time(), _server_cpu(raw)
    for _ in range(batches):
        begun = time.perf_counter()
        for _ in range(each):
            one()
        walls.append((time.perf_counter() - begun) / each * 1e6)
    count = batches * each
    return Reading(
        name=name,
        wall=percentile(walls, 0.1),
        client=(time.process_time() - client) / count * 1e6,
        server=(_server_cpu(raw) - server) / count,
        calls=_calls(one) / STEPS,
        round_trips=cost.round_trips,
        wal=cost.wal_bytes,
    )


def _server_cpu(connection: psycopg.Connection) -> float:
    """Microseconds the connection's backend has run, where it is a process of this machine."""
    try:
        return int(Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text().split()[0]) / 1e3
    except OSError:
        return 0.0


def _calls(one: Callable[[], Any]) -> float:
    profile = cProfile.Profile()
    profile.enable()
    one()
    profile.disable()
    return float(pstats.Stats(profile).total_calls)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.hotpath", description=__doc__.splitlines()[1])
    parser.add_argument("--profile", action="store_true", help="also list where our own run spends its time")
    arguments = parser.parse_args()

    from bench.django_site import PREPARED
    from bench.floors import psycopg_steps as floor
    from bench.ours.steps import Cursors
    from bench.server import Server

    server = Server.started()
    steps = floor.Steps(server.fresh_database("bench_hotpath_floor"))
    steps.setup()
    ours = Cursors(server.fresh_database("bench_hotpath_ours"))
    ours.setup()
    from django.db import connection

    print(f"{'':34} {'wall':>7} {'client':>7} {'server':>7} {'calls':>7} {'trips':>7} {'WAL':>7}")
    with psycopg.connect(steps.url, autocommit=True) as raw:
        print(measured("psycopg", lambda: floor.one_run(raw), raw))
        print(measured("psycopg in one statement a step", lambda: floor.one_run_in_single_statements(raw), raw))
    run = ours.models.Insertion.objects.run
    connection.ensure_connection()
    print(measured("durable", run, connection))
    connection.close()
    connection.settings_dict["OPTIONS"] = PREPARED
    connection.features.__dict__.pop("uses_server_side_binding", None)
    connection.ensure_connection()
    print(measured("durable with prepared statements", run, connection))
    if arguments.profile:
        profile = cProfile.Profile()
        profile.runcall(lambda: [run() for _ in range(300)])
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)
    connection.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
