"""A transaction that the database itself undid is begun again: nothing happened, so nothing failed. C21."""

import threading

import pytest
from django.db import OperationalError, connection, transaction

from tests.app.models import Account, Told

from .actors import Meanwhile, until
from .marks import commits

pytestmark = [commits, pytest.mark.postgres]


@pytest.fixture
def repeatable_read():
    """Let this thread's transactions see one snapshot, as strict sites do."""
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    yield
    connection.close()


def test_a_serialization_failure_is_tried_again_within_the_step(repeatable_read, hooks, effects):
    """C21, SQLSTATE 40001: twice another transaction changes the row that ours has a snapshot of."""
    account = Account.objects.create(name="ada")
    tries = []

    def collide(job):
        tries.append(job.pk)
        if len(tries) < 3:
            Meanwhile(lambda: Account.objects.update(blocked=True)).result()
        Account.objects.update(name=f"renamed in try {len(tries)}")

    hooks["one"] = collide

    job = Told.objects.run()

    account.refresh_from_db()
    assert len(tries) == 3
    assert (job.status, job.attempts, job.failures) == ("done", 1, [])
    assert account.name == "renamed in try 3"
    assert effects(job) == ["one", "three"]


def test_a_serialization_failure_at_commit_is_tried_again(hooks, effects):
    """C21, SQLSTATE 40001 raised by COMMIT or just before it: two transactions each read what the other writes."""
    Account.objects.create(name="a")
    Account.objects.create(name="b")
    tries = []

    def read_all_and_write(name):
        list(Account.objects.values_list("blocked"))
        Account.objects.filter(name=name).update(blocked=True)

    def the_other():
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        with transaction.atomic():
            read_all_and_write("b")

    def skew(job):
        tries.append(job.pk)
        list(Account.objects.values_list("blocked"))
        if len(tries) < 3:
            Meanwhile(the_other).result()
        Account.objects.filter(name="a").update(blocked=True)

    hooks["one"] = skew
    job = Told.objects.start()
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE")

    job.run()
    connection.close()

    assert len(tries) == 3
    assert (job.status, job.failures) == ("done", [])
    assert effects(job) == ["one", "three"]


def test_a_deadlock_is_tried_again_within_the_step(hooks, effects):
    """C21, SQLSTATE 40P01: a real one, whose victim is our step."""
    first, second = Account.objects.create(name="first"), Account.objects.create(name="second")
    holds, tries = threading.Event(), []

    def the_other():
        with connection.cursor() as cursor:
            cursor.execute("SET deadlock_timeout = '10min'")
        with transaction.atomic():
            Account.objects.filter(pk=second.pk).update(blocked=True)
            holds.set()
            Account.objects.filter(pk=first.pk).update(blocked=True)

    others = []

    def embrace(job):
        tries.append(job.pk)
        Account.objects.filter(pk=first.pk).update(name="ours")
        if len(tries) == 1:
            others.append(Meanwhile(the_other))
            until(holds.is_set)
            until(somebody_waits_for_a_lock)
        Account.objects.filter(pk=second.pk).update(name="ours too")

    hooks["one"] = embrace
    job = Told.objects.start()
    with connection.cursor() as cursor:
        cursor.execute("SET deadlock_timeout = '50ms'")

    job.run()
    connection.close()

    others[0].result()
    first.refresh_from_db()
    assert len(tries) == 2
    assert (job.status, job.attempts, job.failures) == ("done", 1, [])
    assert (first.name, first.blocked) == ("ours", True)
    assert effects(job) == ["one", "three"]


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return cursor.fetchone()[0] > 0


def test_a_connection_lost_within_a_step_is_tried_again_on_a_new_one(hooks, effects):
    tries = []

    def cut(job):
        tries.append(job.pk)
        if len(tries) == 1:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                backend = cursor.fetchone()[0]
            Meanwhile(lambda: terminate(backend)).result()
        Account.objects.create(name=f"try {len(tries)}")

    hooks["one"] = cut

    job = Told.objects.run()

    assert len(tries) == 2
    assert (job.status, job.failures) == ("done", [])
    assert list(Account.objects.values_list("name", flat=True)) == ["try 2"]
    assert effects(job) == ["one", "three"]


def test_a_connection_lost_during_an_external_step_costs_no_second_call(hooks):
    calls = []

    def call_and_cut(job):
        calls.append(job.pk)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backend = cursor.fetchone()[0]
        Meanwhile(lambda: terminate(backend)).result()

    hooks["two"] = call_and_cut

    job = Told.objects.run()

    assert len(calls) == 1
    assert (job.status, job.failures) == ("done", [])


def test_an_error_of_the_users_own_is_not_tried_again(hooks):
    tries = []

    def fail(job):
        tries.append(job.pk)
        raise OperationalError("a far database, not ours")

    hooks["one"] = fail
    job = Told.objects.start()

    job.run()

    assert len(tries) == 1
    assert job.last_error == "OperationalError: a far database, not ours"


def terminate(backend: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [backend])
    until(lambda: not is_there(backend))


def is_there(backend: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [backend])
        return cursor.fetchone()[0] > 0
