"""
W9: what an operation costs, counted and not timed, so that a noisy machine can't change the answer.

    with cost_of(connection) as cost:
        job.run()
    assert cost.statements <= 21

`cost_of` reads the protocol that one connection speaks: every statement, BEGIN and COMMIT included, and every time it
waited for an answer. `server_counters` asks the server instead, for contenders whose connections are their own.
"""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

__all__ = ["Cost", "ServerCounters", "cost_of", "server_counters"]


@dataclass(slots=True)
class Cost:
    """Filled in when the `with` block ends."""

    statements: int = 0
    round_trips: int = 0
    commits: int = 0
    wal_bytes: int = 0  # of the whole server: meaningful only while nobody else writes
    sent: tuple[str, ...] = ()


@contextmanager
def cost_of(connection: Any) -> Iterator[Cost]:
    """Count what this connection (Django's or psycopg's) sends until the block ends. Needs libpq on Linux."""
    if hasattr(connection, "ensure_connection"):
        connection.ensure_connection()
        connection = connection.connection
    cost = Cost()
    with tempfile.TemporaryFile("w+", errors="replace") as trace:
        before = _wal_position(connection)
        connection.pgconn.trace(trace.fileno())
        try:
            yield cost
        finally:
            connection.pgconn.untrace()
            after = _wal_position(connection)
            trace.seek(0)
            _read(trace, cost)
            cost.wal_bytes = after - before


def _wal_position(connection: psycopg.Connection) -> int:
    # By the driver's lowest door: it opens no transaction and is not seen by Django.
    result = connection.pgconn.exec_(b"SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
    return int(result.get_value(0, 0))


_CHANGES = re.compile(r'"(INSERT|UPDATE|DELETE|MERGE|COPY) ')
_ENDS = re.compile(r'"(COMMIT|ROLLBACK)"')


def _read(trace: Iterator[str], cost: Cost) -> None:
    """Each line is: time, F or B for the direction, length, message, and its text."""
    sent, wrote = [], False
    for line in trace:
        parts = line.rstrip("\n").split("\t")
        if "F" not in parts[:2]:
            cost.statements += "CommandComplete" in parts or "ErrorResponse" in parts
            if "CommandComplete" in parts:
                # By COMMIT; what follows in the same message begins another transaction.
                cost.commits += wrote and '"COMMIT"' in line
                wrote = (wrote or _CHANGES.search(line) is not None) and not _ENDS.search(line)
            elif "ReadyForQuery" in parts:
                # Idle again after a change: it was a statement of its own.
                cost.commits += wrote and parts[-1].strip() == "I"
                wrote = wrote and parts[-1].strip() == "T"
            continue
        message, text = parts[parts.index("F") + 2], " ".join(parts[parts.index("F") + 3 :])
        if message in {"Query", "Parse"}:
            sent.append(text.strip())
        if message in {"Query", "Sync"}:
            cost.round_trips += 1
    cost.sent = tuple(sent)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCounters:
    """What the server has counted so far for one database."""

    statements: int | None  # None where its log can't be read
    commits: int
    wal: int

    def __sub__(self, other: "ServerCounters") -> "ServerCounters":
        unknown = self.statements is None or other.statements is None
        return ServerCounters(
            statements=None if unknown else self.statements - other.statements,
            commits=self.commits - other.commits,
            wal=self.wal - other.wal,
        )

    def as_dict(self) -> dict[str, int]:
        """By the names of W9's metrics, without what is unknown."""
        named = {"statements": self.statements, "commits": self.commits, "WAL": self.wal}
        return {name: value for name, value in named.items() if value is not None}


def log_statements(url: str) -> None:
    """From the next connection on, every statement of this database stands in the server's log."""
    with psycopg.connect(url, autocommit=True) as connection:
        name = connection.info.dbname
        for setting, value in (("log_min_messages", "log"), ("log_statement", "all")):
            connection.execute(f"ALTER DATABASE \"{name}\" SET {setting} = '{value}'")


def server_counters(url: str) -> ServerCounters:
    """Read the counters; the sessions that are measured must have ended or been idle for a second."""
    with psycopg.connect(url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute("SET log_statement = 'none'")
        connection.execute("SELECT pg_stat_clear_snapshot()")
        commits = connection.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = %s", [name]).fetchone()
        wal = connection.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").fetchone()
        try:
            log = connection.execute("SELECT pg_read_binary_file('log')").fetchone()[0].decode(errors="replace")
        except psycopg.Error:
            return ServerCounters(statements=None, commits=commits[0], wal=wal[0])
    lines = rf"^db={re.escape(name)} LOG:  (?:statement|execute [^:]*): (.*)"
    statements = sum(map(_statements_in, re.findall(lines, log, re.MULTILINE)))
    return ServerCounters(statements=statements, commits=commits[0], wal=wal[0])


def _statements_in(line: str) -> int:
    """How many a message has: one, and those that begin a transaction in the same one, or end one in the middle of it."""
    return 1 + line.startswith(("BEGIN; ", "COMMIT AND CHAIN; ")) + 2 * line.count("; COMMIT AND CHAIN; ")
