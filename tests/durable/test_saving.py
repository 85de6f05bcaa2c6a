"""A stale instance, saved whole, undoes neither a receipt nor a fence. C24."""

import pytest

from durable.run import ContractColumn
from tests.app.models import Closing, Effect, Told

from .marks import commits

pytestmark = commits


def contract_of(job) -> dict:
    return Told.objects.filter(pk=job.pk).values(*Told.contract_columns() - {"flight"}).get()


def test_a_stale_instance_changes_its_own_fields_alone():
    """C24"""
    job = Told.objects.start()
    stale = Told.objects.get(pk=job.pk)
    job.run()
    before = contract_of(job)

    stale.note = "changed"
    stale.save()

    assert contract_of(job) == before
    assert before["three_at"] is not None
    assert Told.objects.get(pk=job.pk).note == "changed"


@pytest.mark.parametrize("column", sorted(Told.contract_columns() - {"flight"}))
def test_naming_a_contract_column_in_update_fields_raises(column):
    """C24"""
    job = Told.objects.start()

    with pytest.raises(ContractColumn, match=column):
        job.save(update_fields=["note", column])


def test_own_fields_may_be_named():
    job = Told.objects.start()
    job.note = "named"

    job.save(update_fields=["note"])

    job.refresh_from_db()
    assert job.note == "named"


def test_the_place_in_flight_belongs_to_the_contract():
    assert "flight" in Closing.contract_columns()


def test_a_bulk_update_of_a_contract_column_raises():
    job = Told.objects.start()

    with pytest.raises(ContractColumn, match="one_at"):
        Told.objects.bulk_update([job], ["note", "one_at"])


def test_a_deferred_field_is_not_loaded_to_be_saved():
    job = Told.objects.start(note="kept")
    partial = Told.objects.only("pk").get(pk=job.pk)

    partial.save()

    job.refresh_from_db()
    assert job.note == "kept"


def test_saving_during_a_step_keeps_the_run_ours(hooks, effects):
    def save_old(job):
        Told.objects.get(pk=job.pk).save()

    hooks["two"] = save_old

    job = Told.objects.run()

    assert job.status == "done"
    assert Effect.objects.filter(run=job.pk).count() == 2
