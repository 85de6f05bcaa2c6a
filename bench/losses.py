"""
Where somebody is ahead of us, found in the figures, and why, written by hand: the one text of the page that is.

A reason is shown only where the loss was seen. Whoever is ahead without a reason here stands in the table all the same.
"""

from collections.abc import Mapping
from typing import Any

from bench.catalogue import CONTENDERS
from bench.figures import ratio
from bench.targets import BATCH, DEFAULT, middle
from bench.workloads import METRICS

__all__ = ["losses"]

Parts = Mapping[str, Mapping[str, Any]]
NOISE = 1.05  # whoever is ahead by less is not told from us
TEXT = """Everybody who is ahead of *durable* in some column by more than 5 %, peers first; whoever completes messages in
batches is held against our batch handler. What the floors do without is our price."""
UNKNOWN = "not explained yet (`bench/losses.py`)"
_BY_HAND = (
    "The same statements, written out by hand: no run object, no time limit of a step, no lease that a heartbeat renews, "
    "nothing kept of a failure."
)
_TOGETHER = "Its worker takes many at a time and works on them side by side; ours is measured claim by claim."
_IN_FLIGHT = (
    "{} operations are in flight in one process and share their flushes; ours does one run after another. The slower the disk, "
    "the more that tells (W10). One operation alone takes it far longer."
)
_ONE_LOOP = (
    "One event loop is woken, claims and works; ours listens in one thread and wakes another, which claims and works."
)
WHY: Mapping[tuple[str, str], str] = {
    ("W1", "pgbench"): "The same statements sent by a program in C: no interpreter, no step that is a method.",
    ("W1", "pgbench in one statement a step"): (
        "C, and one round trip a step instead of four. There is no step in Python between the stamp and COMMIT."
    ),
    ("W1", "psycopg"): (
        "No Django in between: no wrapper around connection and cursor, no model whose methods are the steps, no time limit of "
        "a step, nothing kept of a failure. Ours waits 11 times for the server instead of 21, which makes up for some of it."
    ),
    ("W1", "psycopg in one statement a step"): (
        "One round trip a step instead of four, and no Django. There is no step in Python between the stamp and COMMIT."
    ),
    ("W1", "Django with cursors"): _BY_HAND,
    ("W1", "Django with prepared cursors"): _BY_HAND,
    ("W1", "Django with the ORM"): f"{_BY_HAND} Ours is ahead where its steps use the ORM too.",
    ("W1", "PgQueuer"): (
        "A hundred jobs a claim, side by side over ten connections in one process; completions are buffered, and lost with the "
        "process. Ours does one run after another. One operation alone takes it far longer."
    ),
    ("W1", "oban"): _IN_FLIGHT.format("Ten"),
    ("W1", "Chancy"): _IN_FLIGHT.format("Twenty"),
    ("W2", "psycopg"): (
        "It keeps no record of an attempt. Ours has one committed before each call, so that after a crash it is known what may "
        "have been sent. In bulk ours checks each payload and keeps each message under a key."
    ),
    ("W2", "psycopg in hundreds"): (
        "COPY of two columns, nothing checked, no keys; one claim and one completion a hundred messages, no record of an "
        "attempt, no object a message."
    ),
    ("W2", "PgQueuer"): (
        "No commit before each call, a finished job is deleted, and completions are buffered: they are lost with the process, "
        "and the messages then handled again. asyncpg needs less Python a row than psycopg under Django."
    ),
    (
        "W2",
        "oban",
    ): "No commit before each call, and completions are gathered: lost with the process, and then done again.",
    (
        "W2",
        "Chancy",
    ): "No commit before each call, and completions are gathered: lost with the process, and then done again.",
    ("W2", "Celery on Redis"): "No commit waits for the disk: Redis syncs once a second, and can lose as much.",
    ("W2", "DBOS"): (
        "Fifty messages at a time in threads, whose commits share a flush; ours has four threads, and nothing is sent that is "
        "not recorded as begun."
    ),
    ("W2", "Absurd"): "One commit a message after the work, and no record of it before the call.",
    ("W2", "Procrastinate"): "Ten messages at a time; ours four, none of them sent before it is recorded as begun.",
    ("W2", "django-ox"): "Four threads, as ours; no record before the call.",
    ("W3", "psycopg"): (
        "The same two statements without Django, on a narrower row with two indexes. Ours has six: for due runs, for settled "
        "ones, for those given up, and for keys."
    ),
    ("W3", "PgQueuer"): f"{_TOGETHER} Completions are buffered, and lost with the process.",
    ("W3", "oban"): f"{_TOGETHER} Completions are gathered, and lost with the process.",
    ("W3", "Chancy"): f"{_TOGETHER} Completions are gathered, and lost with the process.",
    ("W3", "DBOS"): _TOGETHER,
    ("W3", "Absurd"): "It claims ten jobs a statement; ours is measured claim by claim.",
    ("W3", "Procrastinate"): _TOGETHER,
    ("W3", "django-ox"): "Its worker has four threads; ours is measured claim by claim, in one.",
    ("W4", "psycopg"): (
        "A loop that knows its one table. Ours first looks who of this host is dead and for what nobody would ever claim, for "
        "each kind there is, signs its worker on, and carries out each run as an object with its own steps."
    ),
    ("W4", "Absurd"): "Two statements a step, without Django; a step's effect and its receipt are two commits.",
    ("W5", "psycopg"): (
        "One connection that listens, claims and works. Ours listens in one thread and wakes another, which claims from the "
        "kind that is due; and the ring is a statement of its own after the commit that it tells of."
    ),
    ("W5", "PgQueuer"): _ONE_LOOP,
    ("W5", "oban"): _ONE_LOOP,
    ("W5", "Chancy"): _ONE_LOOP,
    ("W5", "Procrastinate"): _ONE_LOOP,
    (
        "W5",
        "Absurd",
    ): "It asks a hundred times a second, so nobody has to be woken and it never waits longer than that.",
    (
        "W6",
        "psycopg",
    ): "The new process imports a driver and is told who died. Ours starts Django with all apps and finds out.",
    ("W9", "psycopg"): "A wider row, and an INSERT into six indexes instead of two.",
    ("W9", "psycopg in one statement a step"): (
        "One statement a step instead of four, as there is no step in Python between them. Bytes: a wider row, and an INSERT "
        "into six indexes instead of two."
    ),
    ("W9", "Django with cursors"): "A wider row, and an INSERT into six indexes instead of two.",
    ("W9", "Django with prepared cursors"): "A wider row, and an INSERT into six indexes instead of two.",
    ("W9", "Django with the ORM"): "A wider row, and an INSERT into six indexes instead of two.",
    ("W10", "pgbench"): (
        "C: next to nothing to do between the answer to a commit and the next statement, where sixteen threads of Python take "
        "turns at one interpreter."
    ),
    ("W10", "psycopg"): "The same threads, with less Python between the answer to a commit and the next statement.",
}


def losses(parts: Parts) -> str:
    """The table of those who are ahead, as Markdown; nothing where nobody is."""
    rows = {"peer": [], "floor": []}
    for code, part in parts.items():
        for name in part["figures"]:
            group = CONTENDERS[name].group
            if group in rows and (ahead := _ahead(parts, code, name)):
                by = ", ".join(f"{metric} {times:.2f} ×" for metric, times in ahead.items())
                rows[group].append(f"| {code} | {name} | {by} | {WHY.get((code, name), UNKNOWN)} |")
    if not any(rows.values()):
        return ""
    table = ["| | who is ahead | by | why |", "|---|---|---|---|", *rows["peer"], *rows["floor"]]
    return "\n".join(["## Where we lose, and why", "", *TEXT.splitlines(), "", *table])


def _ahead(parts: Parts, code: str, name: str) -> dict[str, float]:
    """In which columns this contender is ahead of us, and how many times."""
    ours = BATCH if code == "W2" and not CONTENDERS[name].by_itself else DEFAULT
    found = {}
    for metric in METRICS[code].values():
        theirs, mine = (middle(parts, code, contender, metric.name) for contender in (name, ours))
        if theirs and mine and (times := ratio(theirs, mine, better=metric.better) or 0) > NOISE:
            found[metric.name] = times
    return found
