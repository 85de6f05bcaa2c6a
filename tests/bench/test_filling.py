"""Tables are filled with copies of rows: each its own, joined as the first ones are, and indexed as before."""

import psycopg
import pytest
from django.db import connection

from bench.filling import UUID, forget_statistics, indexes_aside
from bench.peers.crowded import copies

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
TABLES = """
CREATE TABLE bench_task (id uuid PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY, state text);
CREATE TABLE bench_run (run uuid PRIMARY KEY, task uuid NOT NULL, serial bigserial, at timestamptz DEFAULT now());
CREATE INDEX bench_task_state ON bench_task (state);
INSERT INTO bench_task (id, state) VALUES (gen_random_uuid(), 'due'), (gen_random_uuid(), 'done');
INSERT INTO bench_run (run, task) SELECT gen_random_uuid(), id FROM bench_task WHERE state = 'due'
"""


@pytest.fixture
def raw():
    connection.ensure_connection()
    given = connection.get_connection_params()
    kept = {name: given[name] for name in ("dbname", "user", "password", "host", "port") if given.get(name)}
    with psycopg.connect(**kept, autocommit=True) as raw:
        raw.execute(TABLES)
        yield raw
        raw.execute("DROP TABLE bench_task, bench_run")


def count(raw, query):
    return raw.execute(query).fetchone()[0]


def test_a_job_is_copied_with_all_its_rows_and_each_copy_is_its_own(raw):
    rows = {"bench_task": "state = 'due'", "bench_run": "true"}
    copies(raw, rows, 50, frozenset({"id", "run", "task"}))

    assert count(raw, "SELECT count(*) FROM bench_task WHERE state = 'due'") == 51
    assert count(raw, "SELECT count(*) FROM bench_task t JOIN bench_run r ON r.task = t.id") == 51
    assert count(raw, "SELECT count(*) FROM bench_task WHERE state = 'done'") == 1
    assert count(raw, "SELECT count(DISTINCT serial) FROM bench_run") == 51


def test_copies_of_the_same_job_made_one_after_the_other_do_not_meet(raw):
    for _ in range(3):
        copies(raw, {"bench_task": "state = 'done'  LIMIT 1"}, 1_000, frozenset({"id"}))

    assert count(raw, "SELECT count(*) FROM bench_task WHERE state = 'done'") == 3_001


def test_indexes_are_away_while_a_table_is_filled_and_there_again_afterwards(raw):
    indexes = "SELECT array_agg(indexname ORDER BY indexname)::text FROM pg_indexes WHERE tablename = 'bench_task'"
    with indexes_aside(raw, "bench_task"):
        assert count(raw, indexes) == "{bench_task_pkey}"
        raw.execute(f"INSERT INTO bench_task (id, state) SELECT {UUID}, 'new' FROM generate_series(1, 100) n")

    assert count(raw, indexes) == "{bench_task_pkey,bench_task_state}"
    assert count(raw, "SELECT count(*) FROM bench_task WHERE state = 'new'") == 100


def test_a_table_whose_statistics_are_forgotten_is_as_one_that_was_never_analysed(raw):
    raw.execute("ANALYZE bench_task")
    known = "SELECT count(*) FROM pg_stats WHERE tablename = 'bench_task'"
    assert count(raw, known) > 0

    forget_statistics(raw, "bench_task")

    assert count(raw, known) == 0
    assert count(raw, "SELECT reltuples FROM pg_class WHERE relname = 'bench_task'") == -1
