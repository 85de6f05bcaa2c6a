"""
What a contender is: one small file that can do one piece of work durably, and say how it is guaranteed.

Each file has a `GUARANTEE` and a `WORKLOADS` dictionary: the workload's code → a class with the methods below.
It runs in a process of its own, with its own interpreter where it is a peer, in an empty database of its own.
"""

from collections.abc import Mapping
from typing import Protocol

__all__ = ["Contender", "Unable"]


class Unable(Exception):
    """This contender can't do this work here; the message is the reason shown in the report."""


class Contender(Protocol):
    def __init__(self, url: str) -> None: ...

    def setup(self) -> None:
        """Make the schema and whatever the run needs; nothing here is timed."""

    def run(self, n: int, processes: int) -> Mapping[str, float]:
        """Do n items with so many processes; return the seconds of each phase by its name."""

    def done(self) -> int:
        """Items whose completion stands in the contender's own record, counted after the clock has stopped."""

    def latency(self, n: int) -> list[float]:
        """Do n items one after another on an idle system; return the seconds each took."""

    def teardown(self) -> None:
        """Stop what was started. The database is dropped by the harness."""
