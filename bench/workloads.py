"""
The work that is measured: what one item is, how much of it at each scale, and which floor it is held against.

Scales: `tiny` only shows that everything works and is never published; `small` is half an hour; `full` is hours.
W7 (documents) and W8 (admin pages) are scripts of their own, named below.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["ELSEWHERE", "FULL_TABLE", "METRICS", "PEERS", "WORKLOADS", "Metric", "Workload"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    name: str
    unit: str
    better: str = "higher"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    code: str
    title: str
    item: str
    floor: str  # the contender whose figures are the 1.0
    metrics: tuple[Metric, ...]
    scales: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


def _rates(*names: str, unit: str) -> tuple[Metric, ...]:
    return tuple(Metric(name=name, unit=unit) for name in names)


def _milliseconds(*names: str) -> tuple[Metric, ...]:
    return tuple(Metric(name=name, unit="ms", better="lower") for name in names)


#: In how many rounds the peers take part at the most: where a turn takes a minute and its result is a ratio within it, in one.
PEERS = "rounds of peers"
#: W3's figures, in the order in which its table is filled. At scale `tiny` the tables are smaller than the names say.
FULL_TABLE = ("10 k due", "100 k due", "1 M due", "1 M due, no statistics", "beside an old snapshot")
DUE = [10_000, 100_000, 1_000_000]

WORKLOADS = {
    workload.code: workload
    for workload in (
        Workload(
            code="W1",
            title="A five-step operation",
            item="five steps, each inserting one row of 100 bytes and recorded durable before the next",
            floor="psycopg",
            metrics=(
                *_rates("1 process", "2 processes", "4 processes", unit="operations/s"),
                *_milliseconds("p50 alone", "p99 alone"),
            ),
            scales={
                "tiny": {"n": 20, "processes": [1, 4], "alone": 5},
                "small": {"n": 400, "processes": [1, 2, 4], "alone": 60, PEERS: 3},
                "full": {"n": 2_000, "processes": [1, 2, 4], "alone": 500},
            },
        ),
        Workload(
            code="W2",
            title="The outbox",
            item="a tiny message, posted in bulk, then handled and completed durably",
            floor="psycopg",
            metrics=_rates("enqueue", "drain, 1 process", "drain, 2 processes", unit="messages/s"),
            scales={
                "tiny": {"n": 200, "processes": [1, 2]},
                "small": {"n": 5_000, "processes": [1, 2]},
                "full": {"n": 20_000, "processes": [1, 2]},
            },
        ),
        Workload(
            code="W3",
            title="Claim and complete in a full table",
            item="one due run claimed and settled while many others are due and many more are settled and kept",
            floor="psycopg",
            metrics=_rates(*FULL_TABLE, unit="runs/s"),
            scales={
                "tiny": {"n": 50, "due": [5_000, 10_000, 50_000], "settled": 50_000, "snapshot": 1, "seconds": 2},
                "small": {"n": 1_000, "due": DUE, "settled": 1_000_000, "snapshot": 15, "seconds": 4, PEERS: 1},
                "full": {"n": 5_000, "due": DUE, "settled": 10_000_000, "snapshot": 60, "seconds": 20},
            },
        ),
        Workload(
            code="W4",
            title="The boot pass",
            item="find the interrupted runs among the settled ones and finish them (two of five steps are left)",
            floor="psycopg",
            metrics=_milliseconds("100 runs resumed"),
            scales={
                "tiny": {"interrupted": 100, "settled": 10_000},
                "small": {"interrupted": 100, "settled": 1_000_000, PEERS: 1},
                "full": {"interrupted": 100, "settled": 1_000_000},
            },
        ),
        Workload(
            code="W5",
            title="From start to the first step",
            item="start a run in one process; a waiting worker in another takes its first step",
            floor="psycopg",
            metrics=_milliseconds("p50", "p99"),
            scales={"tiny": {"n": 5}, "small": {"n": 100, PEERS: 1}, "full": {"n": 300}},
        ),
        Workload(
            code="W6",
            title="Recovery after SIGKILL",
            item="kill the process that is inside a step; start a new one; wait until the run is settled",
            floor="psycopg",
            metrics=_milliseconds("p50", "longest"),
            scales={"tiny": {"n": 1}, "small": {"n": 5, PEERS: 1}, "full": {"n": 20}},
        ),
        Workload(
            code="W9",
            title="What one five-step operation costs",
            item="counted, not timed: the server's own counters before and after",
            floor="psycopg",
            metrics=(
                Metric(name="statements", unit="a run", better="lower"),
                Metric(name="commits", unit="a run", better="lower"),
                Metric(name="WAL", unit="bytes a run", better="lower"),
            ),
            scales={"tiny": {"n": 10}, "small": {"n": 50}, "full": {"n": 500}},
        ),
        Workload(
            code="W10",
            title="The same operation on a slow disk",
            item="W1's operation where each flush takes 2 ms longer (`commit_delay`); many in flight in one process",
            floor="pgbench",
            metrics=_rates("1 in flight", "16 in flight", unit="operations/s"),
            scales={
                "tiny": {"n": 20, "flights": [1, 16]},
                "small": {"n": 120, "flights": [1, 16]},
                "full": {"n": 500, "flights": [1, 16]},
            },
        ),
    )
}

METRICS = {code: {metric.name: metric for metric in workload.metrics} for code, workload in WORKLOADS.items()}

# Measured elsewhere, listed so that asking for them gets an answer instead of "unknown".
ELSEWHERE = {
    "W7": "document save and history: bench/documents_save.py",
    "W8": "admin pages at a million rows: bench/admin_pages.py",
}
