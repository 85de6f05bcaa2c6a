"""What a save sends: one statement, one answer; parsed and planned once on a connection that saves often."""

import uuid

import pytest
from django.db import DatabaseError, connection, transaction

import documents
from bench.counting import cost_of
from documents.models import Conflict, Document
from documents.statements import AFTER, Statement, send
from documents.swapping import _move

from . import oracle
from .factories import Person, save
from .pooler import behind_a_pooler

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def a_connection_of_its_own():
    connection.close()
    yield
    connection.close()


def saves(times, base=0, **more):
    """Save so many versions in a row; return the next base."""
    for version in range(base, base + times):
        assert isinstance(save(oracle.edit(f"v{version + 1}", version), version, **more), documents.Saved)
    return base + times


def prepared():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'documents%%'")
        return cursor.fetchone()[0]


@pytest.mark.parametrize("before", [1, AFTER + 2], ids=["as text", "by its name"])
def test_a_save_is_one_statement_one_answer_one_commit(before):
    base = saves(before)

    with cost_of(connection) as cost:
        save(oracle.edit("next", base), base)

    assert (cost.statements, cost.round_trips, cost.commits) == (1, 1, 1), cost.sent
    assert ("EXECUTE" in cost.sent[0]) == (before > AFTER)
    assert len(oracle.check()[0]) == base + 1


def test_a_repeat_a_stale_save_and_a_further_one_are_so_many_statements():
    base, name = saves(AFTER + 2), uuid.uuid4()
    save(oracle.edit("last", base), base, save_id=name)

    with cost_of(connection) as repeat:
        save(oracle.edit("last", base), base, save_id=name)
    with cost_of(connection) as stale:
        save(oracle.edit("stale", 1), 1, writer="tab")
    with cost_of(connection) as again:
        save(oracle.edit("stale still", 1), 1, writer="tab")

    assert [cost.statements for cost in (repeat, stale, again)] == [2, 12, 8], (repeat.sent, stale.sent, again.sent)


def test_the_way_to_the_name_is_two_statements_once():
    base = saves(AFTER + 1)

    with cost_of(connection) as sixth:
        base = saves(1, base)
    with cost_of(connection) as later:
        saves(3, base)

    assert sixth.statements == 3, sixth.sent
    assert later.statements == 3
    assert prepared() == 1


def test_the_answers_are_the_same_by_name():
    base, name, ada = saves(AFTER + 2), uuid.uuid4(), Person()

    assert save(oracle.edit("mine", base), base, save_id=name, by=ada, reason="why").version == base + 1
    assert isinstance(save(oracle.edit("mine", base), base, save_id=name, by=ada), documents.Replayed)
    with pytest.raises(documents.SaveIdReused):
        save(oracle.edit("other", base + 1), base + 1, save_id=name)
    assert isinstance(save(oracle.edit("stale", base), base), documents.Conflicted)
    with pytest.raises(documents.NotFound):
        save(oracle.edit("none", 4), 4, key="nobody's")
    assert prepared() == 1
    stored, kept = oracle.check()
    assert (stored[-1], kept) == ("mine", ["stale"])
    last = Document.objects.get().revisions.get(version=base + 1)
    assert (last.by, last.by_name, last.reason, last.save_id) == (ada, "ada", "why", name)


def test_a_value_that_is_too_long_is_refused_by_name_as_it_is_as_text():
    statement = _move("default", False, False)
    saves(AFTER + 2)
    values = dict.fromkeys(("by", "restored_from"))
    values |= {
        "kind": "note",
        "key": "n",
        "base": AFTER + 2,
        "deletes": False,
        "digest": "d" * 64,
        "content": "{}",
        "size": 2,
    }
    values |= {"schema": 1, "action": "save", "save_id": uuid.uuid4(), "writer": "w" * 65}
    values |= dict.fromkeys(("sent_digest", "by_name", "reason"), "")

    with pytest.raises(DatabaseError, match="too long"):
        send(connection, statement, values)

    assert len(oracle.check()[0]) == AFTER + 2


@pytest.mark.parametrize("lost", ["DEALLOCATE ALL", "DISCARD ALL"])
def test_a_name_that_the_server_lost_costs_no_save_and_none_is_given_again(lost):
    base = saves(AFTER + 2)
    with connection.cursor() as cursor:
        cursor.execute(lost)

    with cost_of(connection) as first:
        base = saves(1, base)
    with cost_of(connection) as later:
        base = saves(AFTER + 2, base)
    for key in range(AFTER + 2):  # another statement
        save(oracle.edit("v1", 0), 0, key=f"n{key}")

    assert (first.statements, first.commits) == (2, 1)
    assert later.statements == AFTER + 2
    assert prepared() == 0
    assert len(oracle.check()[0]) == base


def test_a_name_that_is_there_from_before_is_used():
    connection.ensure_connection()
    connection.connection.execute(_move("default", False, False).prepare)

    base = saves(AFTER + 2)
    with cost_of(connection) as later:
        saves(1, base)

    assert "EXECUTE" in later.sent[0]
    assert prepared() == 1
    assert len(oracle.check()[0]) == AFTER + 3


def test_a_name_says_the_text_and_the_types():
    one = Statement("UPDATE t SET n = %(n)s", {"n": "integer"})

    assert one.prepare.startswith(one.execute.split()[1].join(["PREPARE ", " (integer) AS UPDATE t SET n = $1"]))
    assert one.execute != Statement("UPDATE t SET n = %(n)s", {"n": "bigint"}).execute
    assert one.execute != Statement("UPDATE t SET m = %(n)s", {"n": "integer"}).execute


def test_in_a_transaction_only_texts_are_sent():
    base = saves(AFTER + 2)
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")

    with cost_of(connection) as cost, transaction.atomic():
        saves(AFTER + 2, base)

    assert not any("EXECUTE" in text or "PREPARE" in text for text in cost.sent)
    assert len(oracle.check()[0]) == 2 * (AFTER + 2)


def test_a_connection_that_is_out_of_autocommit_sends_texts():
    base = saves(AFTER + 2)
    connection.set_autocommit(False)
    try:
        with cost_of(connection) as cost:
            saves(1, base)
        connection.commit()
    finally:
        connection.set_autocommit(True)

    assert not any("EXECUTE" in text for text in cost.sent)
    assert len(oracle.check()[0]) == base + 1


def test_behind_a_pooler_nothing_is_prepared(tmp_path):
    with behind_a_pooler(connection, tmp_path):
        base = saves(AFTER + 1)
        with cost_of(connection) as sixth:
            base = saves(1, base)
        with cost_of(connection) as later:
            saves(3, base)
        assert prepared() == 0

    assert (sixth.statements, later.statements) == (2, 3)
    assert len(oracle.check()[0]) == base + 3
    assert not Conflict.objects.exists()
