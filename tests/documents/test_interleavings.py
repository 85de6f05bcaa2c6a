"""Savers, deleters and settlers in every order (C58, C63, I-12): one winner each time, nothing lost or overwritten."""

import collections
import os
import threading
import uuid

import pytest
from django.db import OperationalError, connection, transaction

import documents
from documents.models import Conflict, Document, Revision

from . import oracle
from .factories import Person, save
from .interleave import run, schedules

EACH = int(os.environ.get("SCHEDULES", "40"))  # at most, for each scene; SCHEDULES=100000 explores all
seen = collections.Counter()


@pytest.fixture(autouse=True, scope="module")
def tell():
    yield
    print(f"\nschedules explored: {dict(seen)}, together {seen.total()}")


def clean():
    Conflict.objects.all().delete()
    Revision.objects.all().delete()
    Document.objects.all().delete()


def explore(request, scene, *, preemptions=3, most=None):
    """Run a scene in each schedule: it returns the writers and a judge of their results."""

    def once(choose):
        clean()
        works, judge = scene()
        results = run(works, choose)
        judge(results)

    for taken in schedules(once, preemptions=preemptions, most=most or EACH):
        seen[request.node.name] += 1
        seen.taken = taken


def start(version=1):
    for at in range(version):
        save(oracle.edit(f"v{at + 1}", at), at)


def saver(token, base, **more):
    return lambda: save(oracle.edit(token, base), base, writer=token, **more)


def in_a_transaction(work):
    def both():
        with transaction.atomic():
            return work()

    return both


def kinds(results):
    return collections.Counter(type(one).__name__ for one in results.values())


postgres = pytest.mark.postgres
races = pytest.mark.django_db(transaction=True)


@postgres
@races
@pytest.mark.parametrize("wrap", [lambda work: work, in_a_transaction], ids=["alone", "in a caller's transaction"])
def test_c58_of_savers_on_one_base_one_wins_and_each_other_is_kept(request, wrap):
    def scene():
        start()

        def judge(results):
            stored, kept = oracle.check(results=results)
            assert kinds(results) == {"Saved": 1, "Conflicted": 2}, results
            assert {*stored, *kept} == {"v1", "a", "b", "c"}

        return {name: wrap(saver(name, 1)) for name in "abc"}, judge

    explore(request, scene)


@postgres
@races
def test_of_two_creators_one_wins_and_the_other_is_kept(request):
    def scene():
        def judge(results):
            oracle.check(results=results)
            assert kinds(results) == {"Saved": 1, "Conflicted": 1}, results

        return {name: in_a_transaction(saver(name, 0)) for name in "ab"}, judge

    explore(request, scene)


@postgres
@races
def test_c59_a_repeat_that_races_with_its_original_is_no_conflict(request):
    def scene():
        start()
        name = uuid.uuid4()

        def judge(results):
            stored, kept = oracle.check(results=results)
            assert (stored, kept) == (["v1", "a"], [])
            assert {one.version for one in results.values()} == {2}
            assert kinds(results)["Saved"] == 1

        return {who: in_a_transaction(saver("a", 1, save_id=name)) for who in ("original", "repeat")}, judge

    explore(request, scene)


@postgres
@races
def test_a_save_id_used_for_two_bases_at_once_names_only_one(request):
    def scene():
        start(2)
        name = uuid.uuid4()

        def judge(results):
            oracle.check(results=results)
            assert Revision.objects.filter(save_id=name).count() <= 1

        return {"a": saver("a", 2, save_id=name), "b": saver("b", 3, save_id=name), "c": saver("c", 2)}, judge

    explore(request, scene)


@postgres
@races
def test_c62_a_deletion_and_a_save_have_one_winner(request):
    def scene():
        start()

        def judge(results):
            stored, _ = oracle.check(results=results)
            deletion, outcome = results["deleter"], results["saver"]
            if isinstance(deletion, documents.Saved):
                assert isinstance(outcome, documents.Gone)
                assert stored == ["v1", None]
            else:
                assert isinstance(deletion, documents.Moved)
                assert stored == ["v1", "a"]

        delete = lambda: documents.delete("note", "n", expected_version=1)  # noqa: E731
        return {"saver": in_a_transaction(saver("a", 1)), "deleter": in_a_transaction(delete)}, judge

    explore(request, scene)


def conflicted():
    start(2)
    return Conflict.objects.get(pk=save(oracle.edit("theirs", 1), 1, writer="tab").conflict_id)


def settler(conflict, choice, version=2, name=""):
    return lambda: documents.settle(
        conflict.pk, choice=choice, expected_version=version, expected_changes=1, actor_name=name
    )


@postgres
@races
@pytest.mark.parametrize("other", ["take_theirs", "keep_stored"])
def test_c63_of_two_settlers_one_wins_and_the_other_is_told_who(request, other):
    def scene():
        one = conflicted()

        def judge(results):
            stored, _ = oracle.check(results=results)
            assert kinds(results) == {"Settled": 1, "SettledBefore": 1}, results
            winner = next(name for name, result in results.items() if isinstance(result, documents.Settled))
            loser = next(result for result in results.values() if isinstance(result, documents.SettledBefore))
            assert loser.by == winner
            assert stored.count("theirs") == (1 if loser.decision == "take_theirs" else 0)

        return {"ann": settler(one, "take_theirs", name="ann"), "bob": settler(one, other, name="bob")}, judge

    explore(request, scene, preemptions=2)


@postgres
@races
@pytest.mark.parametrize("choice", ["take_theirs", "keep_stored"])
def test_a_settler_and_a_saver_have_one_winner(request, choice):
    def scene():
        one = conflicted()

        def judge(results):
            stored, kept = oracle.check(results=results)
            settled, outcome = results["settler"], results["saver"]
            if isinstance(settled, documents.MovedOn):
                assert stored == ["v1", "v2", "a"]
                assert Conflict.objects.get(writer="tab").settled_at is None
            elif choice == "take_theirs":
                assert stored == ["v1", "v2", "theirs"]
                assert isinstance(outcome, documents.Conflicted)
                assert "a" in kept
            else:
                assert stored == ["v1", "v2", "a"]

        return {"settler": settler(one, choice), "saver": saver("a", 2)}, judge

    explore(request, scene, preemptions=2)


@postgres
@races
def test_a_settler_and_the_author_who_saves_again_never_lose_the_new_copy(request):
    def scene():
        one = conflicted()

        def judge(results):
            _, kept = oracle.check(results=results)
            assert "newer" in kept
            if isinstance(results["settler"], documents.Settled):
                assert Conflict.objects.filter(settled_at=None).count() == 1
            else:
                assert isinstance(results["settler"], documents.MovedOn)

        author = lambda: save(oracle.edit("newer", 1), 1, writer="tab")  # noqa: E731
        return {"settler": settler(one, "keep_stored"), "author": author}, judge

    explore(request, scene, preemptions=2)


@postgres
@races
def test_two_stale_saves_of_one_writer_are_one_conflict(request):
    def scene():
        start(2)

        def judge(results):
            oracle.check(results=results)
            assert Conflict.objects.filter(settled_at=None).count() == 1

        return {name: lambda name=name: save(oracle.edit(name, 1), 1, writer="tab") for name in "ab"}, judge

    explore(request, scene, preemptions=2)


@postgres
@races
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_stricter_isolation_changes_no_answer(request, level):
    def under(work):
        def set_first():
            with connection.cursor() as cursor:
                cursor.execute(f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
            return work()

        return set_first

    def scene():
        start()

        def judge(results):
            stored, kept = oracle.check(results=results)
            assert kinds(results) == {"Saved": 1, "Conflicted": 1}, results
            assert {*stored, *kept} == {"v1", "a", "b"}

        return {name: under(saver(name, 1)) for name in "ab"}, judge

    explore(request, scene)


@postgres
@races
def test_in_a_callers_repeatable_read_the_loser_gets_the_databases_error_and_nothing_is_half_written(request):
    def caller(token):
        def work():
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                    cursor.execute("SELECT count(*) FROM documents_document")
                return saver(token, 1)()

        return work

    def scene():
        start()

        def judge(results):
            stored, _ = oracle.check(results=results)
            assert len(stored) == 2
            for one in results.values():
                assert isinstance(one, documents.Saved | documents.Conflicted | OperationalError), one

        return {name: caller(name) for name in "ab"}, judge

    explore(request, scene)


@races
@pytest.mark.parametrize("rounds", [100, pytest.param(500, marks=pytest.mark.long)])
def test_i12_c58_rounds_of_two_savers_behind_a_barrier(rounds):
    ada = Person()
    start(1)
    results: list[object] = []

    def work(barrier, token, base):
        try:
            barrier.wait(10)
            results.append(save(oracle.edit(token, base), base, writer=token, by=ada))
        except Exception as error:
            results.append(error)
        finally:
            connection.close()

    for base in range(1, rounds + 1):
        barrier, results = threading.Barrier(2), []
        threads = [threading.Thread(target=work, args=(barrier, f"{base}{name}", base)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(type(one).__name__ for one in results) == ["Conflicted", "Saved"], results

    stored, kept = oracle.check()
    assert len(stored) == rounds + 1
    assert len({*stored, *kept}) == 2 * rounds + 1
