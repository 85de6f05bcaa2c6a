"""Begun ahead: the INSERT of a run that is carried out at once, and its first receipt, are one message."""

import pytest
from django.db import IntegrityError, connection

from bench.counting import cost_of
from durable import heartbeat
from durable.prepared import _AFTER
from tests.app import models
from tests.app.models import Account, Closing, Effect, Errand, Posting

from .marks import commits

pytestmark = [commits, pytest.mark.postgres]

AHEAD = "COMMIT AND CHAIN; "


@pytest.fixture(autouse=True)
def connected(db):
    """Only on an open connection is a run begun ahead."""
    connection.ensure_connection()


@pytest.fixture
def refusing():
    """Let the database refuse what a trigger's condition says, there and then or at the commit, until the test is over."""

    def refuse(when, trigger="TRIGGER"):
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'refused here' USING ERRCODE = 'check_violation'; END $$"
            )
            cursor.execute(f"CREATE {trigger} refusing {when} EXECUTE FUNCTION refuse()")

    yield refuse
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER IF EXISTS refusing ON app_errand")


def rows(beside):
    return beside("SELECT status, one_at IS NOT NULL, attempts FROM app_errand")


def idle():
    return not connection.in_atomic_block and connection.connection.info.transaction_status == 0


@pytest.mark.parametrize("times", [1, _AFTER + 2], ids=["as texts", "by their names"])
def test_the_insert_and_the_first_receipt_are_one_message(times, beside):
    with connection.cursor() as cursor:  # a plan that reads few rows one after another is not kept
        cursor.execute("SET enable_seqscan = off")
    for _ in range(times):
        Errand.objects.run()

    with cost_of(connection) as cost:
        Errand.objects.run()

    first = cost.sent[0]
    assert AHEAD in first
    assert first.count("EXECUTE") == (2 if times > 1 else 0)
    assert (cost.statements, cost.round_trips, cost.commits) == (18, 11, 6)


def test_while_its_first_step_runs_others_see_the_run_without_a_receipt(beside, monkeypatch):
    seen = []
    happened = models.effect

    def effect(job, name):
        happened(job, name)
        if name == "one":
            seen.append(rows(beside))

    monkeypatch.setattr(models, "effect", effect)

    with cost_of(connection) as cost:
        Errand.objects.run()

    assert AHEAD in cost.sent[0]
    assert seen == [[("running", False, 1)]]


def test_a_key_that_is_taken_begins_nothing(beside):
    first = Errand.objects.run(key="k")

    with cost_of(connection) as cost:
        again = Errand.objects.run(key="k")

    assert AHEAD in cost.sent[0]
    assert again == first
    assert len(rows(beside)) == 1
    assert Effect.objects.count() == 5
    assert idle()


def test_an_insert_that_the_database_refuses_is_the_callers_error_and_leaves_nothing(beside, refusing):
    refusing("BEFORE INSERT ON app_errand FOR EACH ROW")

    with pytest.raises(IntegrityError, match="refused here"):
        Errand.objects.run()

    assert rows(beside) == []
    assert idle()


def test_an_insert_that_is_refused_at_its_commit_is_the_callers_error_and_leaves_nothing(beside, refusing):
    refusing("AFTER INSERT ON app_errand DEFERRABLE INITIALLY DEFERRED FOR EACH ROW", "CONSTRAINT TRIGGER")

    with pytest.raises(IntegrityError, match="refused here"):
        Errand.objects.run()

    assert rows(beside) == []
    assert idle()


def test_a_first_receipt_that_the_database_refuses_is_that_steps_failure_on_a_run_that_is_there(beside, refusing):
    refusing("BEFORE UPDATE ON app_errand FOR EACH ROW WHEN (NEW.one_at IS NOT NULL)")

    job = Errand.objects.run()

    assert rows(beside) == [("pending", False, 1)]
    assert "refused here" in job.last_error
    assert not Effect.objects.exists()
    assert idle()


def test_names_that_the_server_lost_make_one_run_whose_bodies_run_once(beside):
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
    for _ in range(_AFTER + 2):
        Errand.objects.run()
    Effect.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")

    job = Errand.objects.run()

    assert (job.status, job.attempts, job.failures) == ("done", 1, [])
    assert Effect.objects.count() == 5
    assert len(rows(beside)) == _AFTER + 3


def test_an_attempt_that_could_not_begin_leaves_no_transaction_open(beside, monkeypatch):
    def refuse(claim):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(heartbeat, "hold", refuse)

    with pytest.raises(RuntimeError, match="new thread"):
        Errand.objects.run()

    assert rows(beside) == [("running", False, 1)]
    assert idle()


def test_a_job_whose_first_step_is_external_is_inserted_by_itself(tmp_path):
    with cost_of(connection) as cost:
        Posting.objects.run(calls=str(tmp_path / "calls"))

    assert not any(AHEAD in text for text in cost.sent[:2])


def test_what_on_start_does_is_in_the_transaction_of_the_insert():
    account = Account.objects.create(name="a")

    with cost_of(connection) as cost:
        Closing.objects.run(account=account, orders={})

    assert not any(AHEAD in text for text in cost.sent[:3])
    account.refresh_from_db()
    assert account.blocked
