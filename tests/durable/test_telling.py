"""Receipts and sentences: what a person reads about a run, in every state it can be in."""

import os
import re
import signal

import pytest
from django.db import connection

from durable import clock
from durable.clock import InSeconds
from durable.explain import duration
from durable.owner import current
from tests.app.models import Budgeted, Posting, Told

from .actors import Forked
from .marks import commits

pytestmark = commits


def set_columns(job, **columns):
    type(job).objects.filter(pk=job.pk).update(**columns)
    job.refresh_from_db()
    return job


def test_a_receipt_per_step_in_their_order_with_what_was_promised(tmp_path):
    job = Posting.objects.start(calls=str(tmp_path / "calls"))

    promised = [(receipt.step, receipt.guarantee, receipt.at, receipt.starts) for receipt in job.receipts()]

    assert promised == [
        ("reserve", "keyed", None, 0),
        ("charge", "keyed", None, 0),
        ("note_it", "exactly once", None, 0),
        ("sync", "idempotent", None, 0),
        ("mail", "at-least-once", None, 0),
    ]


def test_a_receipt_says_when_by_whom_under_which_fence_and_how_long():
    job = Told.objects.run()

    one, two, _ = job.receipts()

    assert abs((one.at - clock.read(connection)).total_seconds()) < 10
    assert (one.owner, one.fence, one.starts) == (current().label, 1, 1)
    assert 0 <= two.took < 5


def test_a_receipt_counts_the_starts_that_failed():
    job = Told.objects.start(orders={"two": "fail"})
    job.run()
    waiting = job.receipts()[1]
    job.run()
    job.orders = {}
    job.save()

    job.run()

    assert (waiting.at, waiting.starts) == (None, 1)
    assert job.receipts()[1].starts == 3


def test_a_long_database_step_says_how_long_it_took(hooks):
    import time

    hooks["one"] = lambda job: time.sleep(0.12)

    job = Told.objects.run()

    assert 0.1 < job.receipts()[0].took < 5


def test_a_new_run_is_due():
    job = Told.objects.start()

    assert job.explain() == "Due: 0 of 3 steps done; the next worker or boot pass goes on with one."


def test_a_failed_run_waits_and_says_why():
    job = Told.objects.start(orders={"two": "fail down"})
    job.run()

    said = job.explain()

    assert re.match(r"Waiting: retried by itself in [23]\d s \(at \d\d:\d\d:\d\d UTC\), or at", said)
    assert "or at the next boot pass; 1 of 3 steps done, next is two. Last: ValueError: down" in said


def test_a_run_that_waits_for_its_own_reasons_is_continued_not_retried():
    job = Told.objects.start(orders={"one": "wait 10000"})
    job.run()

    assert job.explain().startswith("Waiting: continued by itself in 3 h")


def test_a_done_run_never_runs_again():
    job = Told.objects.run()

    said = job.explain()

    assert said == f"Done since {job.settled_at:%Y-%m-%d %H:%M:%S} UTC; it never runs again."


def test_a_dead_run_needs_a_decision():
    job = Told.objects.start(orders={"two": "refuse stolen"})
    job.run()

    said = job.explain()

    assert said.startswith("Given up at ")
    assert said.endswith(
        "with 1 of 3 steps done; nothing happens by itself, it needs a decision. Last: two refused: stolen"
    )


def test_a_canceled_run_says_so():
    job = Told.objects.start()
    job.cancel()

    assert job.explain().startswith("Canceled at ")
    assert "nothing happens by itself" in job.explain()


def test_a_held_run_says_by_whom_and_until_when():
    job = set_columns(Told.objects.start(), status="running", owner=str(current()), lease_expires_at=InSeconds(45))

    said = job.explain()

    assert f"Running: held by {current().host}, process {os.getpid()}, until " in said
    assert "s from now; 0 of 3 steps done, now at one." in said


def test_a_lapsed_run_says_who_takes_over():
    job = set_columns(Told.objects.start(), status="running", owner=str(current()), lease_expires_at=InSeconds(-1))

    assert job.explain().startswith("Lapsed: ")
    assert "the next worker takes over" in job.explain()


def test_an_orphaned_run_says_that_its_owner_is_gone(hooks):
    hooks["two"] = lambda job: os.kill(os.getpid(), signal.SIGKILL)
    job = Told.objects.start()
    Forked(job.run).wait()
    job.refresh_from_db()

    said = job.explain()

    assert said.startswith("Orphaned: ")
    assert "no longer exists; a boot pass on its host takes over at once" in said


def test_an_owner_that_is_not_ours_is_named_as_it_is():
    job = set_columns(Told.objects.start(), status="running", owner="by hand", lease_expires_at=InSeconds(60))

    assert "held by by hand until" in job.explain()


def test_a_run_with_all_its_receipts_is_at_its_settlement():
    moment = clock.read(connection)
    job = set_columns(Budgeted.objects.start(), one_at=moment, two_at=moment, three_at=moment)

    assert "goes on with the settlement" in job.explain()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "0 s"), (0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "120 min"), (7200, "2 h"), (172800, "2 days")],
)
def test_a_length_of_time_is_told_in_the_unit_that_still_tells_something(seconds, said):
    from datetime import timedelta

    assert duration(timedelta(seconds=seconds)) == said


def test_a_run_prints_as_its_key_or_its_id():
    assert str(Told.objects.start(key="close:7")) == "told close:7"
    keyless = Told.objects.start()
    assert str(keyless) == f"told {keyless.pk}"
