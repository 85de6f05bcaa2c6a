"""The reset against Neon's API, over HTTP: begun once, whatever is lost; watched as Neon's reference says."""

import mmap
import os
import signal
import time

import pytest
from django.db import connection

from durable.models import Operation
from durable.testing import run_until_settled
from durable.testing.crash import in_child
from project.branches import neon as api
from project.farside.neon import BRANCH, PARENT

from .conftest import look, make_due

pytestmark = pytest.mark.django_db(transaction=True)
JSON = {"content_type": "application/json", "body": b'{"message": "secret detail"}'}


def now(operation):
    return Operation.objects.get(pk=operation.pk)


def posts(front):
    return [call for call in front.calls() if call.method == "POST"]


def polls(front):
    return [call for call in front.calls() if "/operations/" in call.path]


def test_a_reset_from_the_queue_to_its_end(reset, neon, front):
    operation = reset()

    assert look(operation, 4) == ["running", "running", "running", "succeeded"]

    done = now(operation)
    assert done.result == {"operations": 1, "kept_under": "before-reset-k1"}
    assert [entry["status"] for entry in done.seen] == ["scheduling", "running", "finished"]
    assert neon.accepted == ["before-reset-k1"]
    assert [call.content() for call in posts(front)] == [
        b'{"source_branch_id": "%s", "preserve_under_name": "before-reset-k1"}' % PARENT.encode()
    ]


def test_a_status_that_is_not_final_and_one_that_nobody_knows_keep_it_watched(reset, neon):
    """C53: Neon's terminal states are finished, skipped and cancelled; failed is not one."""
    neon.statuses = ["scheduling", "running", "failed", "running", "frobnicating", "finished"]
    operation = reset()

    assert look(operation, 7) == ["running"] * 6 + ["succeeded"]

    assert len(neon.accepted) == 1
    assert [entry["status"] for entry in now(operation).seen] == [
        "scheduling", "running", "failed", "frobnicating", "finished",
    ]  # fmt: skip


@pytest.mark.parametrize(("last", "ends"), [("skipped", "succeeded"), ("cancelled", "canceled")])
def test_the_other_ends_neon_knows(reset, neon, last, ends):
    neon.statuses = [last]
    operation = reset()

    assert look(operation, 2)[-1] == ends


def test_bad_answers_and_locks_change_nothing(reset, neon, front, settings, monkeypatch):
    """C55: 423, 423, accepted; then 500, a read timeout, 429 with Retry-After, running, finished."""
    import urllib3

    monkeypatch.setattr(api, "_pool", urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=1, read=0.3)))
    for _ in range(2):
        front.refuse_next("POST", "/projects", status=423, **JSON)
    operation = reset()
    assert look(operation, 3) == ["queued", "queued", "running"]
    front.refuse_next("GET", "/projects", status=500, **JSON)
    assert look(operation) == ["running"]
    front.delay_next("GET", "/projects", seconds=0.6)
    assert look(operation) == ["running"]
    time.sleep(0.5)
    front.refuse_next("GET", "/projects", status=429, retry_after="1", **JSON)
    assert look(operation) == ["running"]
    asked, told = len(polls(front)), time.monotonic()
    while len(polls(front)) == asked and time.monotonic() - told < 10:
        now(operation).nudge()
        from durable.runner import Reconciler
        from durable.shutdown import Shutdown

        reconciler = Reconciler([Operation], Shutdown(grace=0), threads=1)
        reconciler.prepare()
        reconciler.run_pass()
        time.sleep(0.05)
    assert time.monotonic() - told >= 0.9  # no earlier than asked for
    look(operation, 3)

    assert now(operation).status == "succeeded"
    assert len(neon.accepted) == 1
    assert "secret" not in str(now(operation).failures) + now(operation).last_error


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_taken_has_begun_nothing_and_is_not_shown(reset, neon, front, status):
    front.refuse_next("GET", "/projects", status=status, **JSON)
    operation = reset()

    assert look(operation) == ["queued"]

    assert "secret" not in now(operation).last_error
    assert (now(operation).begun_at, neon.accepted) == (None, [])


def test_an_unknown_branch_is_a_failure_that_says_so(reset, neon, front):
    front.refuse_next("GET", "/projects", status=404, **JSON)
    operation = reset()

    assert look(operation) == ["failed"]

    assert now(operation).last_error == "refused: Neon answered 404"


def test_an_operation_that_neon_forgot_is_unknown_not_asked_for_ever(reset, neon, front):
    """Reference C12 and C13."""
    operation = reset()
    look(operation)
    front.refuse_next("GET", "/projects", status=404, **JSON)

    assert look(operation) == ["unknown"]


def test_a_start_whose_answer_is_lost_is_found_by_the_name_we_gave(reset, neon, front):
    front.lose_next_answer("POST", "/projects")
    operation = reset()

    assert look(operation, 5)[-1] == "succeeded"

    assert len(posts(front)) == 1
    assert neon.accepted == ["before-reset-k1"]
    assert now(operation).handle in neon.operations


def test_a_restore_for_which_neon_begins_nothing_is_watched_by_the_branch(reset, neon, front):
    """Reference C5."""
    front.refuse_next("POST", "/projects", status=200, content_type="application/json", body=b'{"operations": []}')
    operation = reset()

    assert look(operation, 2) == ["running", "succeeded"]


def test_a_branch_without_a_parent_is_refused_before_anything_is_asked(reset, neon, front):
    del neon.branches[BRANCH]["parent_id"]
    operation = reset()

    assert look(operation) == ["failed"]
    assert posts(front) == []


@pytest.mark.parametrize("value", ["", "false", "TRUE", "True", "1", "true "])
def test_nothing_is_asked_unless_the_setting_is_exactly_true(reset, neon, front, settings, value):
    settings.BRANCH_RESET = value
    operation = reset()

    look(operation, 2)

    assert now(operation).status == "queued"
    assert front.calls() == []


# Killed ---------------------------------------------------------------------------------------------------------------


def _live(pk, victim):
    victim[:8] = os.getpid().to_bytes(8, "little")
    for _ in range(8):
        make_due()
        if Operation.objects.get(pk=pk).run():
            return


def _finish(operation, neon):
    """Boot passes; and where nobody can know, the person who looks at Neon."""
    from durable.clock import InSeconds

    run_until_settled_or_sought(operation)
    if now(operation).status == "running":  # looked for, until Neon cannot be taking it any more
        Operation.objects.filter(pk=operation.pk).update(begun_at=InSeconds(-600))
        run_until_settled(Operation)
    if now(operation).status == "unknown":
        assert neon.accepted == []
        assert now(operation).it_did_not_happen(by="ada")
        run_until_settled(Operation)
        return True
    return False


def run_until_settled_or_sought(operation):
    for _ in range(8):
        make_due()
        Operation.objects.filter(lease_expires_at__isnull=False).update(lease_expires_at=None, owner="")
        if now(operation).run() or now(operation).settled_at is not None:
            return


def _kill(victim):
    os.kill(int.from_bytes(victim[:8], "little"), signal.SIGKILL)
    time.sleep(0.01)


@pytest.mark.parametrize("side", ["before Neon accepts", "after Neon accepted"])
def test_killed_on_either_side_of_the_start_it_is_accepted_once(reset, neon, front, side):
    """C56: our row was there before the call; Neon holds one restore for its key; our row ends succeeded."""
    victim = mmap.mmap(-1, 8)
    operation = reset()
    setattr(neon, "before_accepting" if side.startswith("before") else "after_accepting", lambda: _kill(victim))

    crash = in_child(lambda: _live(operation.pk, victim))
    neon.before_accepting = neon.after_accepting = lambda: None
    assert crash.killed
    assert now(operation).begun_at is not None
    _finish(operation, neon)

    assert now(operation).status == "succeeded"
    assert neon.accepted == ["before-reset-k1"]
    assert now(operation).handle in neon.operations


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.long), 3])
def test_killed_at_any_statement_neon_accepts_one_start(reset, neon, front, capsys, every):
    points, by_hand, victim = 0, 0, mmap.mmap(-1, 8)
    while True:
        Operation.objects.all().delete()
        neon.accepted.clear()
        neon.operations.clear()
        neon.branches = {name: one for name, one in neon.branches.items() if name in (BRANCH, PARENT)}
        operation = reset(f"n{points}")
        crash = in_child(lambda pk=operation.pk: _live(pk, victim), crash_at=points * every)
        by_hand += _finish(operation, neon)

        assert now(operation).status == "succeeded", now(operation).explain()
        assert len(neon.accepted) == 1, crash.boundary
        if not crash.killed:
            break
        points += 1
    with capsys.disabled():
        print(
            f"\nreset: killed at {points} boundaries ({connection.vendor}), one start accepted each; {by_hand} by hand"
        )
    assert points > 20 // every
