"""
Old and new code side by side on one database: nothing is skipped, repeated or dropped, whichever process takes a run.
"""

import signal
import sys
from collections import Counter

import pytest

from .workers import until

pytestmark = pytest.mark.postgres
MANY = 8
OPEN = "SELECT count(*) FROM deploys_order WHERE settled_at IS NULL"


@pytest.fixture
def code(workers, server):
    """Run code of a version: `code(version, …)` starts `manage.py` with it."""

    def run(version: str, *options: str, program: str = "reconcile", apps: str = "tests.crash.deploys"):
        command = [sys.executable, "manage.py", program, *options]
        return workers.start_command(command, CRASH_VERSION=version, CRASH_APPS=apps)

    if not server.value("SELECT to_regclass('deploys_order')"):
        assert run("added", "--run-syncdb", "-v", "0", program="migrate").ends(60) == 0
    server.ask("TRUNCATE deploys_order")
    return run


def start(code, version: str, note: str, many: int = MANY) -> None:
    script = f"from tests.crash.deploys.models import Order\nfor _ in range({many}): Order.objects.start(note={note!r})"
    assert code(version, "-c", script, program="shell").ends(30) == 0


def effects(server, note: str) -> list[list[str]]:
    """Return the effects of each run of that note, in order."""
    rows = server.ask(
        "SELECT o.id, coalesce(array_agg(e.name::text ORDER BY e.id) FILTER (WHERE e.id IS NOT NULL), '{}')"
        " FROM deploys_order o LEFT JOIN crash_effect e ON e.run = o.id WHERE o.note = %s GROUP BY o.id", note
    )  # fmt: skip
    return [names for _, names in rows]


def all_done(server) -> bool:
    assert server.value("SELECT count(*) FROM deploys_order WHERE status IN ('dead', 'canceled')") == 0
    return server.value(OPEN) == 0


def stamp(server, column: str) -> None:
    server.ask(f"UPDATE deploys_order SET {column} = now() WHERE settled_at IS NULL")


def test_a_step_that_was_added_is_done_for_every_run_the_new_code_started(code, server):
    start(code, "old", "old")
    start(code, "added", "new")

    crew = [code("old", "--watch"), code("added", "--watch")]
    start(code, "added", "new, later")
    start(code, "old", "old, later")
    until(lambda: all_done(server), "all runs to settle", seconds=40)

    assert all(worker.is_alive for worker in crew)
    for note in ("new", "new, later"):
        assert effects(server, note) == [["a", "a2", "b", "c"]] * MANY
    for names in effects(server, "old") + effects(server, "old, later"):
        assert names in (["a", "b", "c"], ["a", "a2", "b", "c"])


@pytest.mark.long
def test_a_step_that_was_added_is_done_for_runs_half_done_under_the_old_code(code, server):
    start(code, "old", "half")
    stamp(server, "a_at")

    assert code("added").ends(30) == 0

    assert effects(server, "half") == [["a2", "b", "c"]] * MANY


def test_runs_with_a_step_this_code_does_not_know_wait_for_code_that_does(code, server):
    start(code, "old", "old")

    removed = code("removed")
    status = removed.ends(30)

    assert status == 1
    assert "a step this code does not know: b" in removed.said
    assert effects(server, "old") == [[]] * MANY
    assert code("old").ends(30) == 0
    assert effects(server, "old") == [["a", "b", "c"]] * MANY


def test_a_step_that_was_retired_is_left_out_of_runs_half_done(code, server):
    start(code, "old", "half")
    stamp(server, "a_at")

    assert code("retired").ends(30) == 0

    assert effects(server, "half") == [["c"]] * MANY
    assert all_done(server)


def test_a_renamed_step_keeps_its_receipts(code, server):
    start(code, "old", "done b")
    stamp(server, "a_at")
    stamp(server, "b_at")
    start(code, "old", "fresh")

    assert code("renamed").ends(30) == 0

    assert effects(server, "done b") == [["c"]] * MANY
    assert effects(server, "fresh") == [["a", "b", "c"]] * MANY


def test_reordered_steps_go_on_by_name(code, server):
    start(code, "old", "half")
    stamp(server, "a_at")

    crew = [code("old", "--watch"), code("reordered", "--watch")]
    start(code, "reordered", "fresh")
    until(lambda: all_done(server), "all runs to settle", seconds=40)

    assert all(worker.is_alive for worker in crew)
    for names in effects(server, "half"):
        assert Counter(names) == Counter("bc")
    for names in effects(server, "fresh"):
        assert Counter(names) == Counter("abc")


def test_a_kind_that_was_removed_is_kept_and_reported_and_done_when_it_is_back(code, server):
    start(code, "old", "orphaned")

    gone = code("old", apps="")
    status = gone.ends(30)

    assert status == 1
    assert "deploys_order: 8 open run(s)" in gone.said
    assert server.value(OPEN) == MANY
    assert "kind unknown" in server.value("SELECT last_error FROM deploys_order LIMIT 1")
    assert code("old").ends(30) == 0
    assert effects(server, "orphaned") == [["a", "b", "c"]] * MANY


@pytest.mark.long
def test_nothing_is_dropped_in_roll_outs_back_and_forth(code, server, workers):
    for number, (version, before) in enumerate([("added", "old"), ("old", "added"), ("added", "old")]):
        leaving, coming = code(before, "--watch"), code(version, "--watch")
        start(code, before, f"{before} {number}")
        start(code, version, f"{version} {number}")
        leaving.send(signal.SIGTERM)
        leaving.ends(10)
        coming.send(signal.SIGTERM)
        coming.ends(10)

    assert code("old").ends(30) in (0, 1)
    assert code("added").ends(30) == 0

    assert all_done(server)
    rows = server.ask("SELECT run, name FROM crash_effect")
    assert len(rows) == len(set(rows))
    assert {len(names) for names in effects(server, "added 0")} == {4}
