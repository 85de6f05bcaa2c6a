"""Chain: COMMIT and the next step's receipt are one message, and nothing else is different."""

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction

from bench.counting import cost_of
from durable import signals
from durable.attempt import Outcome, attempt
from durable.contract import Taking, claim
from tests.app import models
from tests.app.models import Effect, Errand

from .marks import commits

pytestmark = [commits, pytest.mark.postgres]

CHAINED = "COMMIT AND CHAIN"


@pytest.fixture
def steps(monkeypatch):
    """Call this with what a step does besides its effect, by the step's name."""
    happened = models.effect

    def do(**orders):
        def effect(job, name):
            happened(job, name)
            orders.get(name, lambda job: None)(job)

        monkeypatch.setattr(models, "effect", effect)

    return do


def receipts(beside, job):
    sql = "SELECT one_at, two_at, three_at, four_at, five_at FROM app_errand WHERE id = %s"
    (row,) = beside(sql, job.pk)
    return sum(time is not None for time in row)


def effects(job):
    return sorted(Effect.objects.filter(run=job.pk).values_list("name", flat=True))


def taken():
    """A job, and the claim of it."""
    job = Errand.objects.start()
    ((run, right),) = claim(Errand, using="default", owner="me", lease=60, taking=Taking(pk=job.pk))
    return run, right


def chained(cost):
    return sum(CHAINED in text for text in cost.sent)


EVERY = ["five", "four", "one", "three", "two"]


def test_a_body_runs_when_the_step_before_is_committed_and_its_own_receipt_is_not(steps, beside):
    seen = []

    def look(job):
        seen.append((receipts(beside, job), len(beside("SELECT 1 FROM app_effect WHERE run = %s", job.pk))))

    steps(one=look, two=look, three=look, four=look, five=look)

    with cost_of(connection) as cost:
        Errand.objects.run()

    assert seen == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    assert chained(cost) == 5


def test_a_step_that_fails_after_a_chained_commit_takes_its_own_receipt_along_and_no_other(steps, beside):
    def fail(job):
        raise ValueError("no")

    steps(three=fail)

    job = Errand.objects.run()

    assert (job.status, job.failures[-1]["step"]) == ("pending", "three")
    assert receipts(beside, job) == 2
    assert effects(job) == ["one", "two"]
    assert not connection.in_atomic_block


def test_a_commit_that_the_database_refuses_is_that_steps_failure_and_begins_no_other(steps, beside):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE unique_late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        cursor.execute("INSERT INTO unique_late VALUES (1)")

    def offend(job):
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO unique_late VALUES (1)")

    steps(two=offend)
    try:
        with cost_of(connection) as cost:
            job = Errand.objects.run()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE unique_late")

    assert job.failures[-1]["step"] == "two"
    assert "unique_late" in job.last_error
    assert receipts(beside, job) == 1
    assert effects(job) == ["one"]
    assert chained(cost) == 3


def test_a_run_that_changed_hands_with_a_commit_gets_no_receipt_from_the_chain(steps, beside):
    def take(job):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE app_errand SET fence = fence + 1, owner = 'other' WHERE id = %s", [job.pk])

    steps(two=take)

    job = Errand.objects.run()

    assert receipts(beside, job) == 2
    assert effects(job) == ["one", "two"]
    assert beside("SELECT fence, owner, status FROM app_errand WHERE id = %s", job.pk) == [(2, "other", "running")]
    assert not connection.in_atomic_block


def test_a_process_asked_to_stop_in_a_step_begins_no_other_and_holds_nothing(steps, beside):

    asked = []
    steps(two=asked.append)
    job, right = taken()

    with cost_of(connection) as cost:
        assert attempt(job, right, should_stop=lambda: bool(asked)) is Outcome.INTERRUPTED

    assert receipts(beside, job) == 2
    assert chained(cost) == 1
    assert beside("SELECT status, owner FROM app_errand WHERE id = %s FOR UPDATE NOWAIT", job.pk) == [("pending", "")]


def test_a_stop_that_comes_between_the_answer_and_the_body_gives_the_receipt_up(beside):

    job, right = taken()
    # Asked before each step and, on the way, before each chained one.
    answers = iter([False, False, True])

    assert attempt(job, right, should_stop=lambda: next(answers, True)) is Outcome.INTERRUPTED

    assert receipts(beside, job) == 1
    assert effects(job) == ["one"]
    assert beside("SELECT status FROM app_errand WHERE id = %s FOR UPDATE NOWAIT", job.pk) == [("pending",)]
    assert not connection.in_atomic_block


def test_what_a_step_left_for_after_its_commit_is_done_before_the_next_step_and_outside_a_transaction(steps, beside):
    told = []

    def tell(job):
        transaction.on_commit(lambda: told.append((receipts(beside, job), connection.in_atomic_block)))

    steps(two=tell, three=lambda job: told.append("three"))

    Errand.objects.run()

    assert told == [(2, False), "three"]


def test_who_listens_for_steps_is_told_outside_a_transaction(beside):
    told = []

    def listen(sender, run, step, **_):
        told.append((step, receipts(beside, run), connection.in_atomic_block))

    signals.step_done.connect(listen)
    try:
        with cost_of(connection) as cost:
            Errand.objects.run()
    finally:
        signals.step_done.disconnect(listen)

    assert told == [(name, n, False) for n, name in enumerate(["one", "two", "three", "four", "five"], 1)]
    assert chained(cost) == 1  # the run's own commit, with the first receipt


def test_a_name_lost_in_a_step_costs_neither_receipt_nor_body(steps, beside):
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
    for _ in range(8):
        Errand.objects.run()

    def forget(job):
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")

    steps(two=forget)
    with cost_of(connection) as cost:
        job = Errand.objects.run()

    assert any("EXECUTE" in text for text in cost.sent)
    assert (job.status, job.failures, receipts(beside, job)) == ("done", [], 5)
    assert effects(job) == EVERY


def test_a_connection_lost_in_a_step_that_the_chain_began_begins_that_step_again(steps, beside):
    lost = []

    def lose(job):
        if not lost:
            lost.append(beside("SELECT pg_terminate_backend(%s)", connection.connection.info.backend_pid))

    steps(three=lose)

    job = Errand.objects.run()

    assert lost
    assert (job.status, job.failures, receipts(beside, job)) == ("done", [], 5)
    assert effects(job) == EVERY


def test_each_transaction_of_a_chain_has_the_isolation_that_the_project_chose(steps):
    connection.ensure_connection()
    connection.connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
    seen = []

    def look(job):
        with connection.cursor() as cursor:
            cursor.execute("SHOW transaction_isolation")
            seen.append(cursor.fetchone()[0])

    steps(one=look, two=look, five=look)
    try:
        with cost_of(connection) as cost:
            Errand.objects.run()
    finally:
        connection.connection.isolation_level = None

    assert seen == ["serializable"] * 3
    assert chained(cost) == 4


@pytest.mark.parametrize("setting", ["SET TRANSACTION READ ONLY", "SET LOCAL default_transaction_read_only = on"])
def test_what_a_step_set_for_its_transaction_is_not_set_in_the_next(setting, steps, beside):
    def restrict(job):
        with connection.cursor() as cursor:
            cursor.execute(setting)

    steps(two=restrict)

    job = Errand.objects.run()

    assert (job.status, job.failures, receipts(beside, job)) == ("done", [], 5)


def test_a_swallowed_database_error_is_the_steps_failure_and_commits_nothing(steps, beside):
    def swallow(job):
        with pytest.raises(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    steps(two=swallow)

    job = Errand.objects.run()

    assert (job.failures[-1]["step"], receipts(beside, job)) == ("two", 1)
    assert effects(job) == ["one"]


def test_where_somebody_looks_on_nothing_is_chained(beside):
    with connection.execute_wrapper(lambda execute, *args: execute(*args)), cost_of(connection) as cost:
        job = Errand.objects.run()

    assert chained(cost) == 0
    assert (job.status, receipts(beside, job)) == ("done", 5)


@pytest.mark.django_db(transaction=False)
def test_in_a_tests_own_transaction_nothing_is_chained_and_so_nothing_committed(beside):
    with cost_of(connection) as cost:
        job = Errand.objects.run()

    assert chained(cost) == 0
    assert (job.status, effects(job)) == ("done", EVERY)
    assert beside("SELECT count(*) FROM app_errand WHERE id = %s", job.pk) == [(0,)]
