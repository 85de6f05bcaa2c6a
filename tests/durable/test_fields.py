"""What one step hands to the next: typed, through the row, the same for a run that was resumed. C31"""

import os
import signal

import pytest
from django.db import connection

from durable.testing import in_child, run_until_settled
from tests.app.models import Account, Effect, Posting, Ticket, Told, Typed

from .marks import commits

pytestmark = commits


def test_a_resumed_run_sees_the_same_values_as_one_that_was_not_interrupted(monkeypatch):
    """C31"""
    whole = Typed.objects.run()
    cut = Typed.objects.start()
    monkeypatch.setattr(Typed.repeat, "body", lambda self: os.kill(os.getpid(), signal.SIGKILL))
    in_child(cut.run)
    monkeypatch.undo()

    run_until_settled(Typed)

    cut.refresh_from_db()
    assert cut.status == whole.status == "done"
    assert cut.seen == whole.seen != ""
    assert "Decimal('10.10')" in whole.seen
    assert "678901" in whole.seen
    if connection.vendor == "postgresql":  # SQLite keeps a decimal as a float, before the first step and after it
        assert "9223372036854775809" in whole.seen


def test_what_a_step_assigns_without_returning_it_is_gone_for_the_next(hooks):
    seen = []

    def assign(job):
        job.note = "assigned"
        job.orders["changed in place"] = "yes"

    hooks["one"] = assign
    hooks["two"] = lambda job: seen.append((job.note, dict(job.orders)))

    job = Told.objects.run(note="as started")

    assert seen == [("as started", {})]
    assert Told.objects.get(pk=job.pk).note == "as started"


def test_a_related_object_that_was_assigned_without_returning_it_is_gone_too(hooks):
    ada, bob = Account.objects.create(name="ada"), Account.objects.create(name="bob")
    seen = []

    def assign(job):
        job.account = bob

    hooks["one"] = assign
    hooks["two"] = lambda job: seen.append((job.account_id, job.account.name))

    Ticket.objects.run(number="1", account=ada)

    assert seen == [(ada.pk, "ada")]


def test_what_a_step_returns_is_in_the_row_with_its_receipt(hooks):
    seen = []
    hooks["one"] = lambda job: {"note": "returned"}
    hooks["two"] = lambda job: seen.append((Told.objects.get(pk=job.pk).note, job.note))

    Told.objects.run()

    assert seen == [("returned", "returned")]


def test_an_external_step_returns_fields_too(hooks):
    hooks["two"] = lambda job: {"note": "answered"}

    job = Told.objects.run()

    assert (job.status, job.note) == ("done", "answered")


@pytest.mark.parametrize("spelling", ["account", "account_id"])
def test_a_relation_is_returned_by_object_or_by_id(hooks, spelling):
    ada = Account.objects.create(name="ada")
    hooks["one"] = lambda job: {spelling: ada if spelling == "account" else ada.pk}

    job = Ticket.objects.run(number="1")

    assert (job.status, job.account_id, job.last_error) == ("done", ada.pk, "")


def test_a_value_that_does_not_fit_its_field_fails_the_step_with_its_effect(hooks, effects):
    hooks["one"] = lambda job: {"number": "x" * 21} if connection.vendor == "postgresql" else {"number": None}
    job = Ticket.objects.start(number="1")

    job.run()

    assert job.status == "pending"
    assert job.failures[0]["type"] in ("DataError", "IntegrityError")
    assert effects(job) == []


def test_a_step_called_on_an_instance_is_its_plain_body():
    job = Told.objects.start()

    job.one()

    job.refresh_from_db()
    assert (job.one_at, job.fence) == (None, 0)
    assert Effect.objects.filter(run=job.pk).count() == 1


def test_the_key_of_a_step_is_the_same_on_every_attempt_and_no_other_runs():
    first, second = Told.objects.start(), Told.objects.start()

    keys = [job.key_for(step) for job in (first, second) for step in ("one", "two")]

    assert len({*keys}) == 4
    assert Told.objects.get(pk=first.pk).key_for("one") == keys[0] == f"app.told:{first.pk}:one"


def test_a_record_body_gets_an_answer_that_is_a_mapping_of_foreign_names(tmp_path, monkeypatch, effects):
    """An SDK's objects are mappings: with a record body they are its business, not fields of the job."""
    monkeypatch.setattr(Posting.sync, "body", lambda self: {"id": "sub_1", "object": "subscription"})
    monkeypatch.setattr(Posting.sync, "record_body", lambda self, result: {"reference": result["id"]})

    job = Posting.objects.run(calls=str(tmp_path / "calls"))

    assert (job.status, job.reference) == ("done", "sub_1")
