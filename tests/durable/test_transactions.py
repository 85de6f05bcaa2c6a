"""A step and the transactions around it: its own, the caller's, and what hangs on their commit."""

import logging

import pytest
from django.db import IntegrityError, transaction

from durable import InsideTransaction
from durable.testing import run_until_settled
from tests.app.models import Account, Closing, Effect, Errand, Told

from .actors import Meanwhile
from .marks import commits

pytestmark = commits


def test_an_error_that_broke_the_transaction_is_recorded_outside_of_it(hooks, effects):
    """C13"""
    Account.objects.create(name="taken")
    hooks["one"] = lambda job: Account.objects.create(name="taken")
    bad, good = Told.objects.start(), Errand.objects.start()

    with pytest.raises(AssertionError, match="still open"):
        run_until_settled(passes=1)

    bad.refresh_from_db()
    assert bad.last_error.startswith("IntegrityError")
    assert (bad.status, bad.lease_expires_at) == ("pending", None)
    assert effects(bad) == []
    assert Errand.objects.get(pk=good.pk).status == "done"


def test_an_on_commit_callback_that_raises_does_not_undo_the_receipt(hooks, effects, caplog):
    """C15: the exception leaves the transaction after its commit."""
    hooks["one"] = lambda job: transaction.on_commit(lambda: 1 / 0)
    job = Told.objects.start()

    with caplog.at_level(logging.ERROR, logger="durable"):
        done = job.run()
    again = job.run()

    assert done is again is True
    assert effects(job) == ["one", "three"]
    assert job.failures == []
    assert "ZeroDivisionError" in caplog.text


def test_an_on_commit_callback_of_the_last_step_runs_after_the_job_is_done(hooks):
    seen = []
    hooks["three"] = lambda job: transaction.on_commit(lambda: seen.append(Told.objects.get(pk=job.pk).status))

    Told.objects.run()

    assert seen == ["done"]


def test_a_start_in_a_transaction_that_rolls_back_leaves_nothing(hooks):
    """C16: no row, no flag, and a worker beside it saw nothing to run."""
    account = Account.objects.create(name="ada")
    ran = []
    hooks["one"] = ran.append

    with transaction.atomic():
        Closing.objects.start(account=account)
        # SQLite has one writer, who would wait for us; there the worker looks afterwards.
        if transaction.get_connection().vendor == "postgresql":
            Meanwhile(lambda: run_until_settled(Closing)).result()
        transaction.set_rollback(True)
    run_until_settled(Closing)

    account.refresh_from_db()
    assert not Closing.objects.exists()
    assert account.blocked is False
    assert ran == []


def test_a_start_commits_with_the_caller(effects):
    with transaction.atomic():
        job = Errand.objects.start()
        Effect.objects.create(run=job.pk, name="asked")

    run_until_settled(Errand)

    assert effects(job) == ["asked", "one", "two", "three", "four", "five"]


@pytest.mark.parametrize("begin", [lambda: Errand.objects.start().run(), Errand.objects.run])
def test_a_job_does_not_run_inside_a_transaction(begin):
    with transaction.atomic(), pytest.raises(InsideTransaction, match="inside a transaction"):
        begin()

    assert not Effect.objects.exists()


def test_run_may_hang_on_the_callers_commit(effects):
    with transaction.atomic():
        job = Errand.objects.start()
        transaction.on_commit(job.run)

    job.refresh_from_db()
    assert job.status == "done"


def test_an_external_step_runs_outside_any_transaction(hooks):
    seen = []
    hooks["two"] = lambda job: seen.append(transaction.get_connection().in_atomic_block)

    Told.objects.run()

    assert seen == [False]


def test_what_a_step_guards_itself_may_fail_inside_it(hooks, effects):
    def try_twice(job):
        Account.objects.create(name="taken")
        try:
            with transaction.atomic():
                Account.objects.create(name="taken")
        except IntegrityError:
            Account.objects.create(name="free")

    hooks["one"] = try_twice

    job = Told.objects.run()

    assert job.status == "done"
    assert set(Account.objects.values_list("name", flat=True)) == {"taken", "free"}
