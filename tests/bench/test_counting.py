"""What an operation costs is counted from the protocol itself, so the counts are exact."""

import pytest
from django.db import connection, transaction

from bench.counting import _statements_in, cost_of

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def table():
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bench_counted (n integer)")
    yield "bench_counted"
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE bench_counted")


def test_a_transaction_of_two_statements_is_four_statements_and_one_commit(table):
    with cost_of(connection) as cost, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} VALUES (1)")
        cursor.execute(f"INSERT INTO {table} VALUES (2)")

    assert (cost.statements, cost.round_trips, cost.commits) == (4, 4, 1)
    assert cost.wal_bytes > 0


def test_a_statement_of_its_own_is_one_commit_and_a_rollback_is_none(table):
    with cost_of(connection) as cost, connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} VALUES (1)")
        cursor.execute(f"SELECT count(*) FROM {table}")
        with transaction.atomic():
            cursor.execute(f"INSERT INTO {table} VALUES (2)")
            transaction.set_rollback(True)

    assert (cost.statements, cost.commits) == (5, 1)
    assert any("INSERT INTO bench_counted VALUES (1)" in text for text in cost.sent)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("SELECT 1", 1),
        ("COMMIT", 1),
        ("BEGIN; EXECUTE a (1)", 2),
        ("COMMIT AND CHAIN; EXECUTE a (1)", 2),
        ("BEGIN; EXECUTE a (1); COMMIT AND CHAIN; EXECUTE b (1)", 4),
    ],
)
def test_a_line_of_the_servers_log_counts_as_many_statements_as_its_message_had(line, count):
    assert _statements_in(line) == count
