"""A conflict ends only by a person's decision (D5), and the decision is itself a compare-and-swap save."""

import uuid

import pytest

import documents
from documents.models import Conflict, Revision

from .factories import Person, counts, head, save, stored

pytestmark = pytest.mark.django_db

BASE = {"title": "t", "attributes": [{"id": "a", "v": 1}, {"id": "b", "v": 1}]}
STORED = {"title": "t", "attributes": [{"id": "a", "v": 2}, {"id": "b", "v": 1}]}
THEIRS = {"title": "mine", "attributes": [{"id": "a", "v": 1}, {"id": "b", "v": 3}]}
BOTH = {"title": "mine", "attributes": [{"id": "a", "v": 2}, {"id": "b", "v": 3}]}
CROSSED = {"title": "t", "attributes": [{"id": "a", "v": 9}, {"id": "b", "v": 1}]}


def conflict(theirs=THEIRS, *, kind="card", base=BASE, now=STORED, **more):
    save(base, 0, kind=kind)
    save(now, 1, kind=kind)
    return Conflict.objects.get(pk=save(theirs, 1, kind=kind, **more).conflict_id)


def settle(one, choice, version=2, **more):
    more.setdefault("expected_changes", one.changes)
    return documents.settle(one.pk, choice=choice, expected_version=version, **more)


def test_c66_taking_theirs_stores_their_bytes_and_says_who_and_why():
    staff = Person(username="staff")
    one = conflict({"text": "one\ntwo\n"}, kind="note", now="x", base="y")

    outcome = settle(one, "take_theirs", by=staff, reason="the newer figures")

    revision = Revision.objects.get(version=3)
    assert outcome == documents.Settled(conflict_id=one.pk, decision="take_theirs", version=3)
    assert (revision.content, revision.action, revision.by) == ('{"text":"one\\ntwo\\n"}', "settle", staff)
    assert revision.reason == "the newer figures"
    one.refresh_from_db()
    assert (one.decision, one.settled_by, one.settled_by_name, one.settled_version) == (
        "take_theirs",
        staff,
        "staff",
        3,
    )


def test_c66_keeping_what_is_stored_makes_no_version():
    one = conflict()

    outcome = settle(one, "keep_stored")

    assert outcome.version == 2
    assert counts("card") == (2, 1)
    assert Conflict.objects.get().decision == "keep_stored"


def test_a_merge_takes_what_only_one_side_changed():
    one = conflict()

    settle(one, "merge")

    assert head("card") == (3, BOTH)


def test_a_merge_with_an_open_point_is_refused_and_names_it():
    one = conflict(CROSSED)

    with pytest.raises(documents.Unresolved) as refusal:
        settle(one, "merge")

    assert refusal.value.details == {"open": ["/attributes/a"]}
    assert settle(one, "merge", picks={"/attributes/a": "theirs"}).version == 3
    assert head("card")[1]["attributes"][0]["v"] == 9


def test_a_page_may_settle_with_the_content_it_merged():
    settle(conflict(), "merge", content=BOTH)

    assert head("card") == (3, BOTH)


def test_i51_the_result_is_validated_by_the_kind():
    one = conflict()

    with pytest.raises(documents.Invalid):
        settle(one, "merge", content={"attributes": [{}]})
    assert Conflict.objects.get().settled_at is None


def test_a_sheet_is_never_merged_by_anybody():
    one = conflict("z", kind="note", base="x", now="y")

    with pytest.raises(documents.DocumentsError, match="never merged"):
        settle(one, "merge", content="zy")


def test_i49_a_document_that_moved_is_shown_again_and_nothing_is_written():
    one = conflict()
    save(BASE, 2, kind="card")

    for choice in ("keep_stored", "take_theirs", "merge"):
        outcome = settle(one, choice)
        assert isinstance(outcome, documents.MovedOn)
        assert outcome.stored.version == 3
    assert counts("card") == (3, 1)
    assert Conflict.objects.get().settled_at is None


def test_a_copy_that_its_author_changed_meanwhile_cannot_be_settled_unseen():
    one = conflict(writer="tab")
    save(BOTH, 1, kind="card", writer="tab")

    outcome = settle(one, "keep_stored", expected_changes=1)

    assert (outcome.changes, outcome.stored.version) == (2, 2)
    assert Conflict.objects.get().settled_at is None


def test_c63_of_two_settlers_one_wins_and_the_other_is_told_who():
    one = conflict()
    settle(one, "take_theirs", by=Person(username="ann"), reason="hers")

    outcome = settle(one, "keep_stored", by=Person(username="bob"))

    assert isinstance(outcome, documents.SettledBefore)
    assert (outcome.by, outcome.decision, outcome.version, outcome.reason) == ("ann", "take_theirs", 3, "hers")
    assert counts("card") == (3, 1)


def test_c63_three_open_conflicts_are_three_decisions():
    stored("v", versions=5)
    conflicts = [Conflict.objects.get(pk=save(f"c{i}", 4, writer=f"w{i}").conflict_id) for i in range(3)]
    for version in (5, 6, 7):
        save(f"v{version}", version)

    assert settle(conflicts[0], "take_theirs", 8).version == 9
    assert settle(conflicts[1], "keep_stored", 9).version == 9
    assert head() == (9, "c0")
    assert list(Conflict.objects.filter(settled_at=None)) == [conflicts[2]]


def test_a_repeated_settlement_is_answered_again_not_done_again():
    one, name = conflict(), uuid.uuid4()
    settle(one, "take_theirs", save_id=name)

    outcome = settle(one, "take_theirs", save_id=name)

    assert (outcome.version, outcome.replayed) == (3, True)
    assert counts("card") == (3, 1)


def test_taking_a_copy_that_is_stored_by_now_settles_without_a_version():
    one = conflict()
    save(THEIRS, 2, kind="card")

    assert settle(one, "take_theirs", 3).version == 3
    assert Conflict.objects.get().decision == "take_theirs"


def test_a_settler_who_saw_the_deletion_may_bring_the_document_back():
    one = conflict("late", kind="note", base="x", now="y")
    documents.delete("note", "n", expected_version=2)

    assert isinstance(settle(one, "take_theirs", 2), documents.MovedOn)
    assert settle(one, "take_theirs", 3).version == 4
    assert documents.read("note", "n").text == '"late"'


def test_a_conflict_after_a_settled_one_is_a_new_row():
    one = conflict(writer="tab")
    settle(one, "keep_stored")

    again = save(BOTH, 1, kind="card", writer="tab")

    assert again.conflict_id != one.pk


def test_a_repeat_of_a_refused_save_that_was_settled_meanwhile_is_not_asked_about_again():
    name = uuid.uuid4()
    one = conflict(save_id=name, writer="tab")
    settle(one, "keep_stored")
    save(BOTH, 2, kind="card")

    outcome = save(THEIRS, 1, kind="card", save_id=name, writer="tab")

    assert outcome.conflict_id == one.pk
    assert Conflict.objects.count() == 1


def test_i48_a_settlement_against_an_unknown_base_shows_every_difference():
    one = conflict()
    Revision.objects.filter(version=1).update(pruned_at=one.opened_at, content="")

    with pytest.raises(documents.Unresolved) as refusal:
        settle(one, "merge")
    assert set(refusal.value.details["open"]) == {"/title", "/attributes/a", "/attributes/b"}


def test_a_settlement_of_nothing_is_not_found():
    with pytest.raises(documents.NotFound):
        documents.settle(uuid.uuid4(), choice="keep_stored", expected_version=1, expected_changes=1)


def test_merging_by_hand_on_a_model_writes_the_row():
    from tests.docs_app.models import Shelf

    shelf = Shelf.objects.create(name="base")
    key = str(shelf.pk)
    documents.read("shelf", key)
    save({"name": "stored"}, 1, kind="shelf", key=key)
    one = Conflict.objects.get(pk=save({"name": "theirs"}, 1, kind="shelf", key=key).conflict_id)

    settle(one, "take_theirs")

    shelf.refresh_from_db()
    assert shelf.name == "theirs"
