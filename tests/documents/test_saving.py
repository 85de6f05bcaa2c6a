"""One door, one base version, nothing overwritten (D2), nothing lost (D1)."""

import inspect
import uuid

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

import documents
from documents.models import Conflict, Document, Revision

from .factories import Person, counts, head, save, stored

pytestmark = pytest.mark.django_db


def test_a_save_on_version_zero_creates_the_document():
    outcome = save({"a": 1}, 0)

    assert (outcome.version, outcome.created) == (1, True)
    assert head() == (1, {"a": 1})


def test_a_save_on_the_stored_version_makes_the_next_one():
    stored({"a": 1})

    outcome = save({"a": 2}, 1)

    assert (outcome.version, outcome.head_version) == (2, 2)
    assert head() == (2, {"a": 2})
    assert counts() == (2, 0)


def test_a_stale_save_is_refused_and_its_copy_is_kept():
    ada = Person()
    stored({"a": 1}, versions=2)

    outcome = save({"a": "mine"}, 1, by=ada, writer="tab")

    conflict = Conflict.objects.get(pk=outcome.conflict_id)
    assert isinstance(outcome, documents.Conflicted)
    assert (outcome.expected_version, outcome.head_version, outcome.stored.text) == (1, 2, '{"a":1}')
    assert head() == (2, {"a": 1})
    assert (conflict.base_version, conflict.theirs, conflict.by, conflict.by_name) == (1, '{"a":"mine"}', ada, "ada")


def test_i10_a_thousand_ticks_of_a_stale_tab_are_one_conflict_with_the_newest_copy():
    ada = Person()
    stored(versions=2)

    ids = {save({"tick": tick}, 1, by=ada, writer="tab").conflict_id for tick in range(20)}

    conflict = Conflict.objects.get()
    assert ids == {conflict.pk}
    assert (conflict.theirs, conflict.changes) == ('{"tick":19}', 20)


def test_a_repeat_of_a_refused_save_is_not_a_new_copy():
    stored(versions=2)
    name = uuid.uuid4()

    save("mine", 1, save_id=name, writer="tab")
    save("mine", 1, save_id=name, writer="tab")

    assert Conflict.objects.get().changes == 1


def test_two_people_with_the_same_writer_name_keep_two_copies():
    stored(versions=2)

    save("ada's", 1, by=Person(username="ada"), writer="tab")
    save("bob's", 1, by=Person(username="bob"), writer="tab")

    assert sorted(Conflict.objects.values_list("theirs", flat=True)) == ['"ada\'s"', '"bob\'s"']


def test_two_saves_without_a_writer_name_never_share_a_copy():
    stored(versions=2)

    save("one script", 1)
    save("another script", 1)

    assert Conflict.objects.count() == 2


def test_c59_i6_a_repeat_of_a_save_whose_answer_was_lost_is_no_conflict():
    stored(versions=5)
    name = uuid.uuid4()
    save("mine", 5, save_id=name)

    outcome = save("mine", 5, save_id=name)

    assert isinstance(outcome, documents.Replayed)
    assert (outcome.version, outcome.head_version) == (6, 6)
    assert counts() == (6, 0)


def test_i7_a_repeat_answers_the_saved_version_and_the_head():
    stored(versions=4)
    name = uuid.uuid4()
    save("mine", 4, save_id=name)
    save("theirs", 5)

    outcome = save("mine", 4, save_id=name)

    assert (outcome.version, outcome.head_version) == (5, 6)
    assert isinstance(save("mine, more", 5), documents.Conflicted)


def test_a_save_id_never_names_other_content_or_another_person():
    ada, bob = Person(username="ada"), Person(username="bob")
    name = uuid.uuid4()
    save("mine", 0, save_id=name, by=ada)

    with pytest.raises(documents.SaveIdReused):
        save("other", 1, save_id=name, by=ada)
    with pytest.raises(documents.SaveIdReused):
        save("mine", 1, save_id=name, by=bob)
    assert counts() == (1, 0)


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_the_index_refuses_a_save_id_used_twice_and_nothing_is_half_written():
    name = uuid.uuid4()
    save("mine", 0, save_id=name)
    save("theirs", 1)

    with pytest.raises(documents.SaveIdReused):
        save("other", 2, save_id=name)
    again = save("mine", 2, save_id=name)

    assert isinstance(again, documents.Replayed)
    assert (again.version, again.head_version) == (1, 2)
    assert head() == (2, "theirs")
    assert counts() == (2, 0)


def test_saving_what_is_stored_makes_no_version():
    stored({"a": 1})

    outcome = save({"a": 1}, 1)

    assert (outcome.version, outcome.unchanged) == (1, True)
    assert counts() == (1, 0)


def test_a_stale_save_that_changes_nothing_is_no_conflict():
    stored({"a": 1})
    save({"a": 2}, 1)

    on_its_base = save({"a": 1}, 1)
    on_the_head = save({"a": 2}, 1)

    assert (on_its_base.version, on_its_base.head_version) == (1, 2)
    assert (on_the_head.version, on_the_head.head_version) == (2, 2)
    assert counts() == (2, 0)


def test_undoing_to_an_older_text_is_a_new_version():
    stored("first")
    save("second", 1)

    assert save("first", 2).version == 3


def test_a_version_of_the_future_is_a_conflict_with_an_unknown_base():
    stored()

    outcome = save("from a site restored from a backup", 9)

    assert (outcome.expected_version, outcome.head_version) == (9, 1)


def test_c58_a_hard_deleted_revision_does_not_free_its_number():
    document = stored(versions=5)
    document.revisions.filter(version=3).delete()
    document.revisions.filter(version=5).delete()

    assert save("next", 5).version == 6


def test_a_save_on_a_document_that_never_was_is_not_found():
    with pytest.raises(documents.NotFound):
        save("late", 3)
    assert not Document.objects.exists()


def test_i18_the_base_version_cannot_be_left_out():
    with pytest.raises(TypeError):
        documents.save("note", "n", "no base")
    with pytest.raises(documents.VersionRequired):
        save("no base", None)


@pytest.mark.parametrize("version", ["1", 1.0, True, -1, 2**63, [1]])
def test_a_version_is_an_integer_and_nothing_like_one(version):
    with pytest.raises(documents.InvalidVersion):
        save("x", version)


def test_i8_there_is_no_force_flag_on_the_door():
    assert not {"force", "overwrite", "ignore_version", "check"} & set(inspect.signature(documents.save).parameters)


def test_i3_a_machine_is_named_as_such():
    stored()
    documents.save("note", "n", "by night", expected_version=1, actor_name="nightly import")

    assert save("mine", 1).stored.by == "nightly import"


def test_i39_a_kind_that_trims_says_what_it_changed_and_knows_the_repeat():
    name = uuid.uuid4()

    first = save({"title": " Plan ", "n": 1}, 0, kind="trimmed", save_id=name)
    again = save({"title": " Plan ", "n": 1}, 0, kind="trimmed", save_id=name)

    assert first.normalised == {"title": "Plan"}
    assert isinstance(again, documents.Replayed)
    assert head("trimmed") == (1, {"title": "Plan", "n": 1})


def test_a_kind_refuses_with_a_path():
    with pytest.raises(documents.Invalid) as refusal:
        save({"title": ""}, 0, kind="trimmed")

    assert refusal.value.details["errors"] == [{"path": "/title", "message": "A title is needed."}]
    assert not Document.objects.exists()


def test_i32a_a_save_from_another_schema_is_refused_but_its_repeat_is_known():
    name = uuid.uuid4()
    save("two", 0, kind="second", schema=2, save_id=name)

    with pytest.raises(documents.SchemaChanged):
        save("one", 1, kind="second", schema=1)
    assert isinstance(save("two", 0, kind="second", schema=1, save_id=name), documents.Replayed)


def test_the_name_of_an_author_outlives_the_account():
    ada = Person()
    stored(by=ada, versions=2)
    save("refused", 1, by=ada)

    ada.delete()

    assert set(Revision.objects.values_list("by", "by_name")) == {(None, "ada")}
    assert Conflict.objects.values_list("by", "by_name", "by_key").get() == (
        None,
        "ada",
        str(Conflict.objects.get().by_key),
    )


def test_a_save_outside_a_transaction_is_one_statement_on_postgresql():
    stored()

    with CaptureQueriesContext(
        connection,
    ) as queries:
        save("two", 1)

    assert len(queries) == (1 if connection.vendor == "postgresql" else 5), [q["sql"][:80] for q in queries]


@pytest.mark.django_db(transaction=True)
def test_in_a_callers_transaction_save_and_conflict_commit_or_vanish_with_it():
    stored()

    with transaction.atomic():
        save("two", 1)
        save("stale", 1)
        transaction.set_rollback(True)

    assert head() == (1, "one")
    assert counts() == (1, 0)
    with transaction.atomic():
        save("two", 1)
        save("stale", 1)
    assert head() == (2, "two")
    assert counts() == (2, 1)


def test_signals_of_a_changed_mind_cost_nothing_a_kind_must_exist():
    with pytest.raises(documents.NotFound):
        save("x", 0, kind="nobody's")


def test_the_document_row_and_its_head_always_agree():
    stored({"a": 1}, versions=3)

    document = Document.objects.get()
    revision = document.revisions.get(version=document.version)
    assert (document.digest, document.schema) == (revision.digest, revision.schema)
    assert list(document.revisions.order_by("version").values_list("version", flat=True)) == [1, 2, 3]
