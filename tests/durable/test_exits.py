"""Every way an attempt can end: the error is kept, the lease released, and the next attempt spaced as it should be."""

import pytest
from django.db import connections

from durable import Wait, clock
from durable.testing import run_until_settled
from tests.app.models import Budgeted, Errand, Told

from .marks import commits

pytestmark = commits


def seconds_until_due(job) -> float:
    return (job.due_at - clock.read(connections["default"])).total_seconds()


def test_a_job_without_trouble_is_done_and_holds_nothing(effects):
    job = Told.objects.start()

    done = job.run()

    assert done is True
    assert (job.status, job.owner, job.lease_expires_at, job.due_at) == ("done", "", None, None)
    assert job.settled_at is not None
    assert effects(job) == ["one", "three"]


def test_a_done_job_never_runs_again(effects):
    """S6"""
    job = Told.objects.run()

    again = job.run()

    assert again is True
    assert effects(job) == ["one", "three"]
    assert job.fence == 1


def test_an_error_is_kept_and_the_job_released_for_its_backoff(effects):
    job = Told.objects.start(orders={"two": "fail the provider is down"})

    done = job.run()

    assert done is False
    assert (job.status, job.owner, job.lease_expires_at) == ("pending", "", None)
    assert job.last_error == "ValueError: the provider is down"
    assert 25 < seconds_until_due(job) <= 30 * 1.15
    assert effects(job) == ["one"]


def test_a_failure_says_when_where_what_and_who():
    job = Told.objects.start(orders={"two": "fail down"})

    job.run()

    [entry] = job.failures
    assert entry["attempt"] == 1  # the budget is a step's: the first step's receipt began it anew
    assert (entry["step"], entry["type"], entry["message"]) == ("two", "ValueError", "down")
    assert entry["owner"].count("/") == 1
    assert entry["at"].endswith("+00:00")


def test_only_the_newest_twenty_failures_are_kept():
    job = Told.objects.start(orders={"one": "fail 0"})

    for number in range(23):
        job.orders = {"one": f"fail {number}"}
        job.save()
        job.run()

    assert [entry["message"] for entry in job.failures] == [str(number) for number in range(22, 2, -1)]


def test_the_delays_grow_from_attempt_to_attempt():
    job = Told.objects.start(orders={"one": "fail"})
    delays = []

    for _ in range(5):
        job.run()
        delays.append(seconds_until_due(job))

    for delay, nominal in zip(delays, (30, 120, 480, 1920, 3600), strict=True):
        assert nominal - 5 < delay <= nominal * 1.15


def test_the_budget_and_the_delay_begin_anew_with_each_receipt():
    job = Budgeted.objects.start(orders={"one": "fail"})
    job.run()
    job.orders = {"two": "fail"}
    job.save()

    job.run()

    assert job.one_at is not None
    assert (job.status, job.attempts) == ("pending", 1)


def test_a_spent_budget_settles_the_job_as_dead():
    job = Budgeted.objects.start(orders={"one": "fail down"})

    job.run()
    job.run()

    assert (job.status, job.due_at, job.lease_expires_at) == ("dead", None, None)
    assert job.last_error == "given up after 2 attempts: ValueError: down"
    assert len(job.failures) == 2
    assert job.run() is False
    assert len(job.failures) == 2


def test_a_refusal_settles_the_job_as_dead_at_once():
    job = Told.objects.start(orders={"two": "refuse the card was stolen"})

    done = job.run()

    assert done is False
    assert job.status == "dead"
    assert job.last_error == "two refused: the card was stolen"
    assert job.two_at is None


def test_waiting_costs_no_attempt_and_is_no_failure():
    job = Budgeted.objects.start(orders={"one": "wait 600"})

    for _ in range(4):
        assert job.run() is False

    assert (job.status, job.attempts, job.failures) == ("pending", 0, [])
    assert job.last_error == "not yet"
    assert 595 < seconds_until_due(job) <= 600


def test_a_wait_in_a_database_step_takes_its_effect_back(effects):
    job = Told.objects.start(orders={"one": "wait 1"})

    job.run()

    assert job.one_at is None
    assert effects(job) == []


@pytest.mark.parametrize(
    "seconds", [-1, float("nan"), float("inf"), True, "5", None, 10**12, pytest.param(10**400, id="10^400")]
)
def test_a_wait_takes_a_number_of_seconds_that_every_database_can_store(seconds):
    with pytest.raises(ValueError, match="Wait"):
        Wait(seconds)


def test_one_job_that_fails_stops_no_other(effects):
    bad = Told.objects.start(orders={"one": "fail"})
    good = Errand.objects.start()

    with pytest.raises(AssertionError, match=str(bad.pk)):
        run_until_settled(passes=1)

    good.refresh_from_db()
    assert good.status == "done"


def test_a_pass_takes_a_failing_job_once_and_ends():
    job = Told.objects.start(orders={"one": "fail"})

    with pytest.raises(AssertionError, match="still open"):
        run_until_settled(Told, passes=1)

    job.refresh_from_db()
    assert job.attempts == 1
    assert [entry["type"] for entry in job.failures] == ["ValueError"]
