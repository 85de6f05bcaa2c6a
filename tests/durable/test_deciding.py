"""What a person may decide: cancel a run, also while it runs, or give it another chance."""

import threading

import pytest
from django.db import transaction

from tests.app.models import Account, Budgeted, Closing, Effect, Told

from .actors import Meanwhile, until
from .marks import commits

pytestmark = commits


def test_a_waiting_run_is_canceled_and_never_runs(effects):
    job = Told.objects.start()

    moved = job.cancel()

    assert moved is True
    assert (job.status, job.due_at) == ("canceled", None)
    assert job.run() is False
    assert effects(job) == []


@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_a_done_run_is_left_alone(verb):
    job = Told.objects.run()
    before = Told.objects.filter(pk=job.pk).values().get()

    moved = getattr(job, verb)()

    assert moved is False
    assert Told.objects.filter(pk=job.pk).values().get() == before


def test_canceled_during_an_external_step_the_owner_writes_nothing_more(hooks, effects):
    """S2: the call cannot be called back; it leaves no receipt."""
    began, go = threading.Event(), threading.Event()

    def call(job):
        began.set()
        assert go.wait(10)
        return {"note": "too late"}

    hooks["two"] = call
    job = Told.objects.start()
    owner = Meanwhile(Told.objects.get(pk=job.pk).run)
    assert began.wait(10)

    moved = job.cancel()
    after = Told.objects.filter(pk=job.pk).values().get()
    go.set()
    done = owner.result()

    assert (moved, done) == (True, False)
    assert Told.objects.filter(pk=job.pk).values().get() == after
    assert (after["status"], after["two_at"], after["note"]) == ("canceled", None, "")
    assert after["fence"] == 2  # taken out of its owner's hands, a run gets the next fence
    assert effects(job) == ["one"]


@pytest.mark.postgres
def test_a_cancellation_waits_for_a_database_step_in_hand(hooks, effects):
    from django.db import connection

    began, go, decided = threading.Event(), threading.Event(), threading.Event()

    def work(job):
        began.set()
        assert go.wait(10)

    def the_canceller_waits():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND wait_event_type = 'Lock' AND query LIKE 'UPDATE%canceled%'"
            )
            return cursor.fetchone()[0] > 0

    hooks["one"] = work
    hooks["two"] = lambda job: decided.wait(10)  # a waiter has no turn: the owner could be through before it is woken
    job = Told.objects.start()
    owner = Meanwhile(Told.objects.get(pk=job.pk).run)
    assert began.wait(10)
    canceller = Meanwhile(Told.objects.get(pk=job.pk).cancel)
    until(the_canceller_waits)
    go.set()

    assert canceller.result() is True
    decided.set()
    assert owner.result() is False
    job.refresh_from_db()
    assert job.status == "canceled"
    assert job.one_at is not None
    assert effects(job) == ["one"]


def test_on_cancel_commits_with_the_cancellation():
    account = Account.objects.create(name="ada")
    job = Closing.objects.start(account=account)

    job.cancel()

    account.refresh_from_db()
    assert account.blocked is False


def test_an_on_cancel_that_raises_leaves_the_run_as_it_was(monkeypatch):
    account = Account.objects.create(name="ada")
    job = Closing.objects.start(account=account)
    monkeypatch.setattr(Closing, "on_cancel", lambda self: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        job.cancel()

    job.refresh_from_db()
    account.refresh_from_db()
    assert (job.status, account.blocked) == ("pending", True)


def test_a_cancellation_in_the_callers_transaction_goes_with_it():
    job = Told.objects.start()

    with transaction.atomic():
        job.cancel()
        transaction.set_rollback(True)

    job.refresh_from_db()
    assert job.status == "pending"


def test_a_dead_run_gets_a_fresh_budget_and_keeps_its_history(hooks, effects):
    job = Budgeted.objects.start(orders={"two": "fail"})
    job.run()
    job.run()
    job.run()
    dead = job.status
    job.orders = {}
    job.save()

    moved = job.retry()

    assert (dead, moved) == ("dead", True)
    assert (job.status, job.attempts, job.losses, job.settled_at) == ("pending", 0, 0, None)
    assert len(job.failures) == 2
    assert Budgeted.objects.due().filter(pk=job.pk).exists()
    assert job.run() is True
    assert effects(job) == ["one", "three"]


def test_a_waiting_run_is_made_due_at_once():
    job = Told.objects.start(orders={"one": "fail"})
    job.run()

    moved = job.retry()

    assert moved is True
    assert Told.objects.due().filter(pk=job.pk).exists()


def test_a_run_in_hand_is_not_retried(hooks):
    moved = []
    hooks["two"] = lambda job: moved.append(Told.objects.get(pk=job.pk).retry())

    job = Told.objects.run()

    assert moved == [False]
    assert job.status == "done"
    assert Effect.objects.filter(run=job.pk).count() == 2


def test_a_step_may_cancel_its_own_run(hooks, effects):
    hooks["two"] = lambda job: Told.objects.get(pk=job.pk).cancel() and None

    job = Told.objects.run()

    assert job.status == "canceled"
    assert effects(job) == ["one"]
