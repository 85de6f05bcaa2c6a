"""Savers, deleters, restorers and settlers in every order (C58, C63, I-12): one winner, nothing lost or overwritten."""

import collections
import threading
import uuid

import pytest
from django.db import OperationalError, connection, transaction

import documents
from documents.models import Conflict, Document, Revision

from . import oracle
from .factories import Person, save
from .interleave import explore

MOST = 25  # schedules of three writers in the normal suite; `make test-long` plays all
FREE = 100_000


def clean():
    for model in (Conflict, Revision, Document):
        model.objects.all()._raw_delete("default")


@pytest.fixture(params=[pytest.param(MOST, id=f"{MOST}"), pytest.param(FREE, marks=pytest.mark.long, id="every")])
def three(request):
    """How many schedules of three writers are played."""
    return request.param


@pytest.fixture
def every_order(report):
    """Play a scene in every order, or as many orders as `most` says."""

    def play(scene, most=FREE):
        found = explore(scene, clean, most=most)
        report(found)
        assert found.complete or most == MOST

    return play


def start(version=1):
    for at in range(version):
        save(oracle.edit(f"v{at + 1}", at), at, writer="first")


def saver(token, base, **more):
    return lambda: save(oracle.edit(token, base), base, **{"writer": token, **more})


def deleter(version):
    return lambda: documents.delete("note", "n", expected_version=version, writer="deleter")


def restorer(old, version):
    return lambda: documents.restore("note", "n", old, expected_version=version, writer="restorer")


def alone(work):
    return work


def in_a_transaction(work):
    def both():
        with transaction.atomic():
            return work()

    return both


def kinds(results):
    return collections.Counter(type(one).__name__ for one in results.values())


postgres = pytest.mark.postgres
races = pytest.mark.django_db(transaction=True)
both_ways = pytest.mark.parametrize("wrap", [alone, in_a_transaction])


@races
@both_ways
def test_c58_of_two_savers_on_one_base_one_wins_and_the_other_is_kept(every_order, wrap):
    def scene():
        start()

        def judge(results):
            stored, kept = oracle.check(results=results)
            assert kinds(results) == {"Saved": 1, "Conflicted": 1}, results
            winner = next(name for name, one in results.items() if isinstance(one, documents.Saved))
            assert (stored, kept) == (["v1", winner], [*({"a", "b"} - {winner})])

        return {name: wrap(saver(name, 1)) for name in "ab"}, judge

    every_order(scene)


@races
@both_ways
def test_c58_of_three_savers_on_one_base_one_wins_and_each_other_is_kept(every_order, wrap, three):
    def scene():
        start()

        def judge(results):
            stored, kept = oracle.check(results=results)
            assert kinds(results) == {"Saved": 1, "Conflicted": 2}, results
            assert len(stored) == 2
            assert {*stored, *kept} == {"v1", "a", "b", "c"}

        return {name: wrap(saver(name, 1)) for name in "abc"}, judge

    every_order(scene, three)


@races
@both_ways
def test_of_two_creators_one_wins_and_the_other_is_kept(every_order, wrap):
    def scene():
        def judge(results):
            stored, kept = oracle.check(results=results)
            assert kinds(results) == {"Saved": 1, "Conflicted": 1}, results
            assert {*stored, *kept} == {"a", "b"}

        return {name: wrap(saver(name, 0)) for name in "ab"}, judge

    every_order(scene)


@races
@both_ways
def test_c59_a_repeat_that_races_with_its_original_is_no_conflict(every_order, wrap):
    def scene():
        start()
        name = uuid.uuid4()

        def judge(results):
            stored, kept = oracle.check(results=results)
            assert (stored, kept) == (["v1", "a"], [])
            assert {one.version for one in results.values()} == {2}
            assert kinds(results)["Saved"] == 1

        return {who: wrap(saver("a", 1, save_id=name)) for who in ("original", "repeat")}, judge

    every_order(scene)


@races
def test_a_repeat_its_original_and_another_saver_are_one_winner_and_no_conflict_with_oneself(every_order, three):
    def scene():
        start()
        name = uuid.uuid4()

        def judge(results):
            stored, kept = oracle.check(results=results)
            assert (stored, set(kept)) in ((["v1", "a"], {"b"}), (["v1", "b"], {"a"}))
            mine = [results["original"], results["repeat"]]
            if stored[1] == "a":
                assert {one.version for one in mine} == {2}
            else:
                assert {type(one) for one in mine} == {documents.Conflicted}
                assert Conflict.objects.get(writer="a").changes == 1

        repeats = {who: saver("a", 1, save_id=name) for who in ("original", "repeat")}
        return {**repeats, "b": saver("b", 1)}, judge

    every_order(scene, three)


@races
def test_a_save_id_used_for_two_bases_at_once_names_only_one(every_order, three):
    def scene():
        start(2)
        name = uuid.uuid4()

        def judge(results):
            oracle.check(results=results)
            assert Revision.objects.filter(save_id=name).count() <= 1

        return {"a": saver("a", 2, save_id=name), "b": saver("b", 3, save_id=name), "c": saver("c", 2)}, judge

    every_order(scene, three)


@races
@both_ways
def test_c62_a_deletion_and_a_save_have_one_winner(every_order, wrap):
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

        return {"saver": wrap(saver("a", 1)), "deleter": wrap(deleter(1))}, judge

    every_order(scene)


@races
@both_ways
def test_a_restore_and_a_save_have_one_winner_and_only_a_saved_copy_is_kept(every_order, wrap):
    def scene():
        start(2)

        def judge(results):
            stored, kept = oracle.check(results=results)
            if isinstance(results["restorer"], documents.Saved):
                assert (stored, kept) == (["v1", "v2", "v1"], ["a"])
                assert isinstance(results["saver"], documents.Conflicted)
            else:
                assert (stored, kept) == (["v1", "v2", "a"], [])
                assert isinstance(results["restorer"], documents.Moved)

        return {"saver": wrap(saver("a", 2)), "restorer": wrap(restorer(1, 2))}, judge

    every_order(scene)


@races
def test_a_saver_a_deleter_and_a_restorer_are_one_winner(every_order, three):
    def scene():
        start(2)

        def judge(results):
            stored, _ = oracle.check(results=results)
            saved = [name for name, one in results.items() if isinstance(one, documents.Saved)]
            assert len(saved) == 1, results
            assert stored == ["v1", "v2", {"saver": "a", "deleter": None, "restorer": "v1"}[saved[0]]]

        return {"saver": saver("a", 2), "deleter": deleter(2), "restorer": restorer(1, 2)}, judge

    every_order(scene, three)


def conflicted():
    start(2)
    return Conflict.objects.get(pk=save(oracle.edit("theirs", 1), 1, writer="tab").conflict_id)


def settler(conflict, choice, version=2, name=""):
    return lambda: documents.settle(
        conflict.pk, choice=choice, expected_version=version, expected_changes=1, actor_name=name
    )


CHOICES = ["take_theirs", "keep_stored"]


@races
@pytest.mark.parametrize("one", CHOICES)
@pytest.mark.parametrize("other", CHOICES)
def test_c63_of_two_settlers_one_wins_and_the_other_is_told_who(every_order, one, other):
    def scene():
        conflict = conflicted()

        def judge(results):
            stored, _ = oracle.check(results=results)
            assert kinds(results) == {"Settled": 1, "SettledBefore": 1}, results
            winner = next(name for name, result in results.items() if isinstance(result, documents.Settled))
            loser = next(result for result in results.values() if isinstance(result, documents.SettledBefore))
            assert loser.by == winner
            assert stored.count("theirs") == (1 if loser.decision == "take_theirs" else 0)

        return {"ann": settler(conflict, one, name="ann"), "bob": settler(conflict, other, name="bob")}, judge

    every_order(scene)


@races
@pytest.mark.parametrize("choice", CHOICES)
def test_a_settler_and_a_saver_have_one_winner(every_order, choice):
    def scene():
        one = conflicted()
        return {"settler": settler(one, choice), "saver": saver("a", 2)}, lambda results: one_winner(results, choice)

    every_order(scene)


@races
@pytest.mark.parametrize("choice", CHOICES)
def test_two_settlers_and_a_saver_have_one_winner(every_order, choice, three):
    def scene():
        one = conflicted()

        def judge(results):
            won = [name for name in ("ann", "bob") if isinstance(results[name], documents.Settled)]
            assert len(won) <= 1
            one_winner({"settler": results[won[0] if won else "ann"], "saver": results["saver"]}, choice)

        settlers = {name: settler(one, choice, name=name) for name in ("ann", "bob")}
        return {**settlers, "saver": saver("a", 2)}, judge

    every_order(scene, three)


def one_winner(results, choice):
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


@races
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("other", [deleter(2), restorer(1, 2)], ids=["deleter", "restorer"])
def test_a_settler_and_who_deletes_or_restores_have_one_winner(every_order, choice, other):
    def scene():
        one = conflicted()

        def judge(results):
            stored, _ = oracle.check(results=results)
            if isinstance(results["settler"], documents.Settled) and choice == "take_theirs":
                assert stored == ["v1", "v2", "theirs"]
                assert isinstance(results["other"], documents.Moved)
            else:
                assert isinstance(results["settler"], documents.Settled | documents.MovedOn)
                assert isinstance(results["other"], documents.Saved)
                assert len(stored) == 3

        return {"settler": settler(one, choice), "other": other}, judge

    every_order(scene)


@races
@pytest.mark.parametrize("choice", CHOICES)
def test_a_settler_and_the_author_who_saves_again_never_lose_the_new_copy(every_order, choice):
    def scene():
        one = conflicted()

        def judge(results):
            _, kept = oracle.check(results=results)
            assert "newer" in kept
            if isinstance(results["settler"], documents.Settled):
                assert Conflict.objects.filter(settled_at=None).count() == 1
            else:
                assert isinstance(results["settler"], documents.MovedOn)

        return {"settler": settler(one, choice), "author": saver("newer", 1, writer="tab")}, judge

    every_order(scene)


@races
@both_ways
def test_two_stale_saves_of_one_writer_are_one_conflict(every_order, wrap):
    def scene():
        start(2)

        def judge(results):
            _, kept = oracle.check(results=results)
            assert kinds(results) == {"Conflicted": 2}, results
            assert kept in (["a"], ["b"])
            assert Conflict.objects.get(settled_at=None).changes == 2

        return {name: wrap(saver(name, 1, writer="tab")) for name in "ab"}, judge

    every_order(scene)


@postgres
@races
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_stricter_isolation_changes_no_answer(every_order, level):
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

    every_order(scene)


@postgres
@races
def test_in_a_callers_repeatable_read_the_loser_gets_the_databases_error_and_nothing_is_half_written(every_order):
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

    every_order(scene)


@postgres
@races
def test_giving_up_at_states_seen_before_loses_no_end():
    def scene():
        one = conflicted()
        return {"settler": settler(one, "take_theirs"), "saver": in_a_transaction(saver("a", 2))}, lambda results: None

    every = explore(scene, clean, merge=False)
    merged = explore(scene, clean)

    assert every.complete
    assert every.ends == merged.ends
    assert merged.schedules <= every.schedules
    assert merged.waits > 0


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
