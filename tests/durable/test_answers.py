"""What a step answers, and what it did to its transaction, decides whether its receipt is written."""

import pytest
from django.db import connections, transaction

from durable import Refused
from tests.app.models import Told

from .marks import commits

pytestmark = commits


@pytest.mark.parametrize("returned", [7, "text", ["note"], object()])
def test_a_step_that_returns_something_else_than_fields_is_refused_with_its_name(hooks, effects, returned):
    hooks["one"] = lambda job: returned
    job = Told.objects.start()

    job.run()

    assert job.status == "dead"
    assert "step 'one' returned" in job.last_error
    assert effects(job) == []


@pytest.mark.parametrize("name", ["fence", "status", "one_at", "step_log", "id", "no_such_field"])
def test_a_step_cannot_return_a_column_of_the_contract_or_an_unknown_one(hooks, effects, name):
    hooks["one"] = lambda job: {name: 1}
    job = Told.objects.start()

    job.run()

    assert job.status == "dead"
    assert repr(name) in job.last_error
    assert effects(job) == []


def test_a_swallowed_database_error_fails_the_step_instead_of_losing_its_effect(hooks, effects):
    """A COMMIT of a broken transaction is a ROLLBACK that PostgreSQL reports as success."""

    def swallow(job):
        try:
            with connections["default"].cursor() as cursor:
                cursor.execute("SELECT no_such_column FROM app_effect")
        except Exception:
            return

    hooks["one"] = swallow
    job = Told.objects.start()

    job.run()

    if connections["default"].vendor == "postgresql":
        assert (job.status, job.one_at) == ("pending", None)
        assert "swallowed a database error" in job.last_error
        assert effects(job) == []
    else:  # SQLite undoes the statement alone; the transaction is whole
        assert effects(job) == ["one", "three"]


def test_a_body_that_sets_rollback_fails_instead_of_stamping_nothing(hooks, effects):
    hooks["one"] = lambda job: transaction.set_rollback(True)
    job = Told.objects.start()

    job.run()

    assert (job.status, job.one_at) == ("pending", None)
    assert "rolled back" in job.last_error
    assert effects(job) == []


def test_a_refusal_in_a_record_body_or_a_database_step_leaves_no_effect(hooks, effects):
    def refuse(job):
        raise Refused("no")

    hooks["three"] = refuse
    job = Told.objects.start()

    job.run()

    assert job.status == "dead"
    assert effects(job) == ["one"]
