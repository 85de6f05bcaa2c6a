"""What an operation costs is counted from the protocol itself, so the counts are exact."""

import pytest
from django.db import connection, transaction

from bench.counting import cost_of

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
