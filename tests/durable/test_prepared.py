"""Prepared: what a connection sends often is planned once; nothing but speed depends on it."""

import math
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction
from psycopg.types.json import Jsonb

from bench.counting import cost_of
from durable import cursors, prepared
from tests.app.models import Effect, Errand
from tests.documents.pooler import behind_a_pooler

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

OFTEN = prepared._AFTER + 2


@pytest.fixture(autouse=True)
def a_table_of_its_own():
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE told (id bigint PRIMARY KEY, word varchar(20) NOT NULL)")
        cursor.execute("INSERT INTO told SELECT n, 'none' FROM generate_series(1, 5000) n")
        cursor.execute("ANALYZE told")
    yield
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE told")


UPDATE = "UPDATE told SET word = %s WHERE id = %s AND word NOT LIKE 'x%%'"


def tell(times=1, word="one", sql=UPDATE):
    return [cursors.write(connection, sql, (f"{word} {n}", 7), often=True) for n in range(times)]


def word():
    with connection.cursor() as cursor:
        cursor.execute("SELECT word FROM told WHERE id = 7")
        return cursor.fetchone()[0]


def names():
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_prepared_statements WHERE name LIKE 'durable%%'")
        return [row[0] for row in cursor.fetchall()]


def test_a_statement_that_is_sent_often_is_sent_by_its_name():
    with cost_of(connection) as first:
        assert tell(prepared._AFTER) == [1] * prepared._AFTER
    tell()
    with cost_of(connection) as later:
        assert tell(3, "last") == [1, 1, 1]

    assert not any("EXECUTE" in text for text in first.sent)
    assert all("EXECUTE" in text for text in later.sent)
    assert later.statements == later.round_trips == later.commits == 3
    assert word() == "last 2"
    assert len(names()) == 1


@pytest.mark.parametrize("lost", ["DEALLOCATE ALL", "DISCARD ALL"])
def test_a_name_that_the_server_lost_costs_no_write_and_none_is_given_again(lost):
    tell(OFTEN)
    with connection.cursor() as cursor:
        cursor.execute(lost)

    assert tell(1, "after") == [1]
    assert word() == "after 0"
    tell(OFTEN)
    tell(OFTEN, sql=UPDATE.replace("NOT LIKE", "!~"))

    assert names() == []


def test_a_name_that_is_there_from_before_is_used():
    tell(OFTEN)
    connection._durable_cursor = None

    with cost_of(connection) as cost:
        tell(OFTEN)

    assert "EXECUTE" in cost.sent[-1]
    assert len(names()) == 1


def test_in_a_transaction_only_texts_are_sent():
    tell(OFTEN)
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")

    with cost_of(connection) as cost, transaction.atomic():
        tell(OFTEN, "inside")

    assert not any("EXECUTE" in text or "PREPARE" in text for text in cost.sent)
    assert word() == f"inside {OFTEN - 1}"


def test_the_statement_that_begins_a_transaction_goes_by_its_name_and_no_other_of_it():
    with cost_of(connection) as cost:
        for n in range(OFTEN):
            with transaction.atomic():
                cursors.write(connection, UPDATE, (f"first {n}", 7), often=True, begins=True)
                cursors.write(connection, UPDATE, (f"second {n}", 7), often=True, begins=True)

    sent = [text.split()[0].strip('"') for text in cost.sent]
    assert sent[-3:] == ["BEGIN;", "UPDATE", "COMMIT"]
    assert cost.sent[-3].split()[1] == "EXECUTE"
    assert sent.count("PREPARE") == 1
    assert word() == f"second {OFTEN - 1}"


@pytest.mark.parametrize("lost", ["DEALLOCATE ALL", "DISCARD ALL"])
def test_a_receipt_whose_name_the_server_lost_is_written_by_a_transaction_begun_again(lost):
    """Nothing of the step was done by then: it is no failure of the step, and its body runs once."""
    with connection.cursor() as cursor:  # a plan that reads the few rows of this suite one after another is not kept
        cursor.execute("SET enable_seqscan = off")
    for _ in range(OFTEN):
        Errand.objects.run()
    job = Errand.objects.start()
    assert len(names()) >= 5
    with connection.cursor() as cursor:
        cursor.execute(lost)
    before = Effect.objects.count()

    assert job.run()

    assert (job.status, job.attempts, job.failures) == ("done", 1, [])
    assert Effect.objects.count() == before + 5
    assert names() == []


VALUES = [
    ("text", ["plain", "", "it's", "a \\ b", "\\' OR 1=1 --", "%s %% {}", "ä € 😀", "$1", "two\nlines", None]),
    ("bigint", [0, 7, -7, 2**63 - 1, 1 - 2**63, None]),
    ("double precision", [0.0, -0.5, 60.0, 1e-7, 1e300, math.inf, -math.inf]),
    ("uuid", [UUID(int=0), UUID(int=2**128 - 1)]),
    ("boolean", [True, False]),
    ("timestamptz", [datetime(2026, 11, 30, 23, 59, 59, 999999, tzinfo=UTC)]),
    ("bytea", [b"\x00'\\"]),
    ("text[]", ["{a,b}", '{"it\'s","a \\\\ b"}']),
    ("jsonb", [Jsonb({"it's": ["\\", "ä", None, 1.5]})]),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=[kind for kind, _ in VALUES])
def test_a_value_that_goes_with_a_name_arrives_as_it_does_with_the_text(kind, values):
    sql = f"SELECT %s::{kind}, pg_typeof(%s::{kind})::text"

    by_text = [cursors.rows(connection, sql, [value, value]) for value in values]
    for _ in range(OFTEN):
        cursors.rows(connection, sql, [values[0], values[0]], often=True)
    with cost_of(connection) as cost:
        by_name = [cursors.rows(connection, sql, [value, value], often=True) for value in values]

    assert by_name == by_text
    assert all("EXECUTE" in text for text in cost.sent)


def test_a_backslash_is_one_where_the_server_takes_it_for_an_escape_too():
    with connection.cursor() as cursor:
        cursor.execute("SET standard_conforming_strings = off")

    tell(OFTEN, "a \\ b")

    assert word() == f"a \\ b {OFTEN - 1}"


def test_a_text_with_a_nul_is_refused_by_its_name_too():
    tell(OFTEN)

    with pytest.raises((DatabaseError, ValueError), match="NUL"):
        tell(1, "no\0")

    assert tell(1, "after") == [1]


def test_an_error_is_the_statements_own_by_its_name_too():
    tell(OFTEN)

    with pytest.raises(DatabaseError, match="too long"):
        tell(1, "w" * 30)

    assert tell(1, "after") == [1]
    assert len(names()) == 1


def test_behind_a_pooler_nothing_is_prepared(tmp_path):
    with behind_a_pooler(connection, tmp_path):
        tell(prepared._AFTER + 1)  # the first of them opens the connection, through Django
        with cost_of(connection) as asked:
            tell()
        with cost_of(connection) as later:
            tell(3, "behind")
        assert names() == []

    assert (asked.statements, later.statements) == (2, 3)
    assert word() == "behind 2"


def test_a_plan_that_reads_the_whole_table_is_not_kept_until_it_no_longer_does():
    """Right while the table is small, it would be kept however large that becomes."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE told")
        cursor.execute("INSERT INTO told SELECT n, 'none' FROM generate_series(1, 10) n")
        cursor.execute("ANALYZE told")

    tell(OFTEN + 3)
    assert names() == []

    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO told SELECT n, 'none' FROM generate_series(100, 20000) n")
    tell(prepared._AGAIN + 1)
    assert len(names()) == 1


def test_a_plan_is_made_anew_after_a_while(monkeypatch):
    tell(OFTEN)
    monkeypatch.setattr(prepared, "_KEPT", 0.0)
    connection._durable_cursor.names._named[UPDATE].until = 0.0

    with cost_of(connection) as cost:
        tell()

    assert [text.split()[0].strip('"') for text in cost.sent] == ["DEALLOCATE", "PREPARE", "EXPLAIN", "EXECUTE"]
    assert word() == "one 0"


def test_every_answer_is_the_same_by_name():
    query = "SELECT id, word, %s::text, now() - now() FROM told WHERE id = %s"
    found = [cursors.rows(connection, query, ("50%", 7), often=True) for _ in range(OFTEN)]

    assert all(one == found[0] for one in found)
    assert found[0][0][:3] == (7, "none", "50%")
