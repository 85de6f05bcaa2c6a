"""A process killed at any statement of a save or a settlement leaves all or nothing; its repeat is no conflict."""

import uuid

import pytest

import documents
from documents.models import Conflict, Document, Revision
from documents.statements import AFTER

from . import oracle
from .factories import head, save
from .killing import points

pytestmark = pytest.mark.django_db(transaction=True)
survived = {}


@pytest.fixture(autouse=True, scope="module")
def tell():
    yield
    print(f"\nkilled at {sum(survived.values())} points: {survived}")


def clean():
    for model in (Conflict, Revision, Document):
        model.objects.all().delete()


def everywhere(request, prepare, judge):
    """Kill the work at each point in turn; `prepare()` makes a world and the work, `judge()` looks at the wreck."""

    def fresh():
        clean()
        return prepare()

    killed = 0
    for _ in points(fresh):
        judge()
        killed += 1
    survived[request.node.name] = killed
    assert killed


def test_a_save_killed_anywhere_is_whole_or_absent_and_its_repeat_is_answered(request):
    name = uuid.uuid4()

    def prepare():
        save(oracle.edit("v1", 0), 0)
        return lambda: save(oracle.edit("a", 1), 1, save_id=name)

    def judge():
        before, _ = oracle.check()
        assert before in (["v1"], ["v1", "a"])
        outcome = save(oracle.edit("a", 1), 1, save_id=name)
        assert isinstance(outcome, documents.Replayed if len(before) == 2 else documents.Saved)
        assert oracle.check() == (["v1", "a"], [])

    everywhere(request, prepare, judge)


@pytest.mark.postgres
def test_saves_that_come_to_be_sent_by_name_are_whole_or_absent_wherever_they_are_killed(request):
    names = [uuid.UUID(int=number) for number in range(AFTER + 2)]

    def prepare():
        save(oracle.edit("v1", 0), 0)
        return all_saves

    def all_saves():
        return [
            save(oracle.edit(f"v{version + 1}", version), version, save_id=name)
            for version, name in enumerate(names, 1)
        ]

    def judge():
        stored, kept = oracle.check()
        assert stored == [f"v{version + 1}" for version in range(len(stored))]
        outcomes = [type(one) for one in all_saves()]
        done = len(stored) - 1
        assert outcomes == [documents.Replayed] * done + [documents.Saved] * (len(names) - done)
        assert kept == oracle.check()[1] == []

    everywhere(request, prepare, judge)


def test_a_creation_killed_anywhere_leaves_no_document_without_a_version(request):
    name = uuid.uuid4()

    def prepare():
        return lambda: save(oracle.edit("a", 0), 0, save_id=name)

    def judge():
        assert Document.objects.count() == Revision.objects.count()
        assert save(oracle.edit("a", 0), 0, save_id=name).version == 1
        assert oracle.check() == (["a"], [])

    everywhere(request, prepare, judge)


def test_a_stale_save_killed_anywhere_keeps_its_copy_once_it_is_repeated(request):
    name = uuid.uuid4()

    def prepare():
        save(oracle.edit("v1", 0), 0)
        save(oracle.edit("v2", 1), 1)
        return lambda: save(oracle.edit("mine", 1), 1, save_id=name, writer="tab")

    def judge():
        assert oracle.check()[1] in ([], ["mine"])
        assert isinstance(save(oracle.edit("mine", 1), 1, save_id=name, writer="tab"), documents.Conflicted)
        assert oracle.check() == (["v1", "v2"], ["mine"])

    everywhere(request, prepare, judge)


@pytest.mark.parametrize("choice", ["take_theirs", "keep_stored"])
def test_a_settlement_killed_anywhere_is_whole_or_absent_and_its_repeat_is_answered(request, choice):
    name, world = uuid.uuid4(), {}

    def settle():
        return documents.settle(world["conflict"], choice=choice, expected_version=2, expected_changes=1, save_id=name)

    def prepare():
        save(oracle.edit("v1", 0), 0)
        save(oracle.edit("v2", 1), 1)
        world["conflict"] = save(oracle.edit("theirs", 1), 1).conflict_id
        return settle

    def judge():
        stored, _ = oracle.check()
        settled = Conflict.objects.get().settled_at is not None
        assert (len(stored) == 3) == (settled and choice == "take_theirs"), "decision and revision are one"
        outcome = settle()
        assert isinstance(outcome, documents.Settled)
        assert outcome.replayed == settled
        assert len(oracle.check()[0]) == (3 if choice == "take_theirs" else 2)

    everywhere(request, prepare, judge)


def test_a_save_of_a_models_row_killed_anywhere_writes_row_and_version_together(request):
    from tests.docs_app.models import Shelf

    world = {}

    def prepare():
        Shelf.objects.all().delete()
        shelf = Shelf.objects.create(name="old")
        world["key"] = str(shelf.pk)
        documents.read("shelf", world["key"])
        return lambda: save({"name": "new"}, 1, kind="shelf", key=world["key"])

    def judge():
        version, content = head("shelf", world["key"])
        assert Shelf.objects.get().name == content["name"]
        assert (version, content["name"]) in ((1, "old"), (2, "new"))

    everywhere(request, prepare, judge)


def test_a_restore_and_a_deletion_killed_anywhere_are_whole_or_absent(request):
    world = {}

    def prepare():
        for version in range(3):
            save(oracle.edit(f"v{version + 1}", version), version)
        world["id"] = uuid.uuid4()
        return lambda: (
            documents.delete("note", "n", expected_version=3),
            documents.restore("note", "n", 1, expected_version=4, save_id=world["id"]),
        )

    def judge():
        stored, _ = oracle.check()
        assert stored in (["v1", "v2", "v3"], ["v1", "v2", "v3", None], ["v1", "v2", "v3", None, "v1"])

    everywhere(request, prepare, judge)
