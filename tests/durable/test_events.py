"""Signals and log lines: sent after the fact is committed; a receiver that raises never reaches the run."""

import logging

import pytest

from durable import signals
from durable.testing import run_until_settled
from tests.app.models import Budgeted, Told

from .marks import commits

pytestmark = commits


@pytest.fixture
def heard():
    """What was sent, as (signal's name, what it named)."""
    events, receivers = [], []
    for name in ("step_done", "run_settled", "run_failed", "run_waiting", "run_lost"):

        def receive(sender, run, claim, name=name, **facts):
            facts.pop("signal")
            events.append((name, facts.get("step") or facts.get("status") or facts.get("reason")))
            assert sender is type(run)
            assert claim.pk == run.pk

        getattr(signals, name).connect(receive, weak=False)
        receivers.append((name, receive))
    yield events
    for name, receive in receivers:
        getattr(signals, name).disconnect(receive)


def test_a_run_that_succeeds_is_heard_step_by_step(heard):
    Told.objects.run()

    assert heard == [("step_done", "one"), ("step_done", "two"), ("step_done", "three"), ("run_settled", "done")]


def test_a_step_is_heard_after_its_commit(hooks):
    seen = []

    def receive(sender, run, step, **facts):
        seen.append(Told.objects.filter(pk=run.pk, **{f"{step}_at__isnull": False}).exists())

    signals.step_done.connect(receive)
    try:
        Told.objects.run()
    finally:
        signals.step_done.disconnect(receive)

    assert seen == [True, True, True]


def test_a_failure_and_a_death_are_heard(heard):
    job = Budgeted.objects.start(orders={"one": "fail"})

    job.run()
    job.run()

    assert heard == [("run_failed", "pending"), ("run_failed", "dead"), ("run_settled", "dead")]


def test_a_wait_is_heard_with_its_reason(heard):
    Told.objects.start(orders={"one": "wait 5"}).run()

    assert heard == [("run_waiting", "not yet")]


def test_a_receiver_that_raises_is_logged_and_harms_nothing(caplog):
    def receive(sender, **facts):
        raise RuntimeError("a receiver's own trouble")

    signals.step_done.connect(receive)
    try:
        job = Told.objects.run()
    finally:
        signals.step_done.disconnect(receive)

    assert job.status == "done"
    assert caplog.text.count("signal receiver failed") == 3


@pytest.mark.parametrize(
    ("orders", "level", "line"),
    [
        ({}, logging.INFO, "run settled kind=app.budgeted"),
        ({"one": "fail down"}, logging.WARNING, "run failed kind=app.budgeted"),
        ({"one": "refuse no"}, logging.ERROR, "run settled kind=app.budgeted"),
        ({"one": "wait 5"}, logging.INFO, "run waiting kind=app.budgeted"),
    ],
)
def test_each_end_is_one_line_at_its_level(caplog, orders, level, line):
    caplog.set_level(logging.INFO, logger="durable")
    job = Budgeted.objects.start(orders=orders)

    job.run()

    [record] = [record for record in caplog.records if record.message.startswith(line)]
    assert record.levelno == level
    assert f"pk={job.pk}" in record.message


def test_nothing_is_said_of_a_pass_without_runs(caplog):
    caplog.set_level(logging.INFO, logger="durable")

    run_until_settled(Told)

    assert caplog.records == []
