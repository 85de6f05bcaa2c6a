"""Starting: one key names one operation, one place in flight holds one run, and the caller's transaction is unhurt."""

import threading

import pytest
from django.db import IntegrityError, connection, transaction

from durable import KeyConflict
from tests.app.models import Account, Closing, Effect, Errand, Ticket, Told

from .actors import Meanwhile, until
from .marks import commits

pytestmark = commits


def test_the_same_key_and_arguments_return_the_same_run():
    first = Told.objects.start(key="k", note="a")

    second = Told.objects.start(key="k", note="a")

    assert second.pk == first.pk
    assert Told.objects.count() == 1


def test_a_settled_run_answers_every_repeat(effects):
    """S6"""
    first = Told.objects.run(key="k", note="a")

    second = Told.objects.run(key="k", note="a")

    assert (second.pk, second.status) == (first.pk, "done")
    assert effects(first) == ["one", "three"]


def test_run_carries_on_what_was_started_under_the_key(effects):
    first = Told.objects.start(key="k")

    second = Told.objects.run(key="k")

    assert (second.pk, second.status) == (first.pk, "done")


def test_the_same_key_with_other_arguments_is_an_error_naming_both():
    Told.objects.start(key="k", note="before")

    with pytest.raises(KeyConflict) as caught:
        Told.objects.start(key="k", note="after")

    assert "'k'" in str(caught.value)
    assert "note was 'before', now 'after'" in str(caught.value)


def test_arguments_are_compared_as_values_not_as_spellings():
    account = Account.objects.create(name="ada")

    first = Ticket.objects.start(key="k", number="7", account=account)
    second = Ticket.objects.start(key="k", account_id=account.pk, number="7")

    assert second.pk == first.pk


def test_a_key_belongs_to_its_kind():
    told, errand = Told.objects.start(key="k"), Errand.objects.start(key="k")

    assert told.pk != errand.pk


@pytest.mark.parametrize("key", ["", "x" * 201, "a\x00b", 7, "lone \ud83d"])
def test_a_key_that_no_database_could_hold_is_refused_by_name(key):
    """S10"""
    with pytest.raises(ValueError, match="a key is"):
        Told.objects.start(key=key)

    assert not Told.objects.exists()


@pytest.mark.parametrize("fields", [{"fence": 7}, {"status": "done"}, {"one_at": None}, {"no_such_field": 1}])
def test_a_start_takes_own_fields_only(fields):
    with pytest.raises(TypeError, match=next(iter(fields))):
        Told.objects.start(**fields)


def test_two_callers_with_one_key_get_one_run_and_keep_their_transactions():
    """C23: the loser's IntegrityError poisoned the caller's transaction."""
    together = threading.Barrier(2, timeout=10)

    def request(name):
        def work():
            together.wait()
            with transaction.atomic():
                Account.objects.create(name=f"{name} before")
                job = Told.objects.start(key="del:1")
                Account.objects.create(name=f"{name} after")
            return job.pk

        return work

    first, second = Meanwhile(request("a")), Meanwhile(request("b"))

    assert first.result() == second.result()
    assert Told.objects.count() == 1
    assert set(Account.objects.values_list("name", flat=True)) == {"a before", "a after", "b before", "b after"}


@pytest.mark.postgres
def test_a_start_waits_for_the_other_callers_transaction_and_starts_if_it_rolls_back():
    inserted, go = threading.Event(), threading.Event()

    def the_other():
        with transaction.atomic():
            Told.objects.start(key="k")
            inserted.set()
            assert go.wait(10)
            transaction.set_rollback(True)

    other = Meanwhile(the_other)
    assert inserted.wait(10)
    mine = Meanwhile(lambda: Told.objects.start(key="k").pk)
    until(waits_for_a_lock)
    go.set()
    other.result()

    pk = mine.result()
    assert Told.objects.get().pk == pk


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return cursor.fetchone()[0] > 0


def test_on_start_commits_with_the_new_row_and_only_with_it():
    account = Account.objects.create(name="ada")

    Closing.objects.start(key="k", account=account)
    account.refresh_from_db()
    blocked_by_the_first = account.blocked
    Account.objects.update(blocked=False)
    Closing.objects.start(key="k", account=account)

    account.refresh_from_db()
    assert (blocked_by_the_first, account.blocked) == (True, False)


def test_an_on_start_that_raises_leaves_no_row(monkeypatch):
    account = Account.objects.create(name="ada")
    monkeypatch.setattr(Closing, "on_start", lambda self: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        Closing.objects.start(account=account)

    assert not Closing.objects.exists()


def test_a_conflict_with_a_constraint_of_the_jobs_own_is_told_as_such():
    """ON CONFLICT DO NOTHING swallows every conflict; one that is not about the key must not look for it for ever."""
    Ticket.objects.start(number="7")

    with pytest.raises(IntegrityError, match="number"):
        Ticket.objects.start(number="7")
    with pytest.raises(IntegrityError, match="number"):
        Ticket.objects.run(key="another", number="7")

    assert Ticket.objects.count() == 1
    assert not Effect.objects.exists()


def test_a_row_that_was_made_without_start_is_carried_on_too(effects):
    """S3: the admin, a fixture, objects.create(): no row is invisible."""
    job = Told.objects.create()

    done = job.run()

    assert done is True
    assert effects(job) == ["one", "three"]
