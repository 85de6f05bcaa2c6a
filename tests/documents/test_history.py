"""History is read, folded for the eye, and gone back to only by going forward."""

import datetime as dt

import pytest

import documents
from documents.history import folded, listed
from documents.models import Document, Revision

from .factories import Person, head, save, stored

pytestmark = pytest.mark.django_db


def test_a_restore_is_a_new_version_with_the_old_content():
    stored("new", versions=3)

    outcome = documents.restore("note", "n", 1, expected_version=3, by=Person(), reason="undo")

    revision = Revision.objects.get(version=4)
    assert outcome.version == 4
    assert head() == (4, {"step": 0})
    assert (revision.action, revision.restored_from, revision.by_name, revision.reason) == ("restore", 1, "ada", "undo")


def test_c60_a_restore_from_a_page_of_an_old_version_is_refused():
    stored("new", versions=6)

    outcome = documents.restore("note", "n", 2, expected_version=5)

    assert isinstance(outcome, documents.Moved)
    assert outcome.stored.version == 6
    assert head() == (6, "new")


def test_c62_a_save_never_brings_a_deleted_document_back_and_a_restore_does():
    stored("text", versions=2)
    assert documents.delete("note", "n", expected_version=2, by=Person()).version == 3

    with pytest.raises(documents.Gone) as refusal:
        save("late autosave", 2)
    with pytest.raises(documents.Gone):
        save("new?", 0)
    with pytest.raises(documents.Gone):
        save("seen", 3)
    assert refusal.value.details["by"] == "ada"
    assert Document.objects.get().deleted_at is not None
    assert documents.restore("note", "n", 2, expected_version=3).version == 4
    assert Document.objects.get().deleted_at is None
    assert save("again", 4).version == 5


def test_a_deletion_of_a_version_not_seen_is_refused():
    stored("text", versions=2)

    assert isinstance(documents.delete("note", "n", expected_version=1), documents.Moved)
    assert Document.objects.get().deleted_at is None


def test_a_repeated_deletion_is_a_repeat():
    import uuid

    stored()
    name = uuid.uuid4()
    documents.delete("note", "n", expected_version=1, save_id=name)

    assert isinstance(documents.delete("note", "n", expected_version=1, save_id=name), documents.Replayed)
    with pytest.raises(documents.Gone):
        documents.delete("note", "n", expected_version=2)
    with pytest.raises(documents.InvalidVersion):
        documents.delete("note", "m", expected_version=0)


def test_a_version_that_was_pruned_or_never_was_cannot_be_restored():
    stored("x", versions=2)
    Revision.objects.filter(version=1).update(pruned_at=dt.datetime.now(dt.UTC), content="")

    for version in (1, 7):
        with pytest.raises(documents.NotFound):
            documents.restore("note", "n", version, expected_version=2)


def test_i56_consecutive_autosaves_of_one_writer_are_one_line():
    ada, bob = Person(username="ada"), Person(username="bob")
    for version in range(5):
        save({"v": version}, version, by=ada, writer="tab")
    save("bob's", 5, by=bob, writer="his")
    save("back", 6, by=ada, writer="tab")
    documents.restore("note", "n", 1, expected_version=7, by=ada, writer="tab")

    lines = folded(listed("note", "n", limit=50))

    assert [(line.version, line.first, line.saves, line.by) for line in lines] == [
        (8, 8, 1, "ada"),
        (7, 7, 1, "ada"),
        (6, 6, 1, "bob"),
        (5, 1, 5, "ada"),
    ]


def test_a_pause_begins_a_new_line():
    for version in range(3):
        save({"v": version}, version, writer="tab")
    Revision.objects.filter(version=1).update(at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))

    assert [line.saves for line in folded(listed("note", "n", limit=50))] == [2, 1]
