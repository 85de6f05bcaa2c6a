"""W9: what a job costs in statements and commits. A change that makes it dearer must say so here."""

import pytest
from django.db import connection, connections

from tests.app.models import Errand, Posting, Told

from .marks import commits

pytestmark = commits


class Meter:
    """Counts statements and commits on this thread's connection, in the order they are sent."""

    def __init__(self) -> None:
        self.statements, self.commits = [], 0

    def __call__(self, execute, sql, params, many, context):
        self.statements.append(" ".join(sql.split())[:60])
        return execute(sql, params, many, context)


@pytest.fixture
def meter(monkeypatch):
    meter, raw = Meter(), connections["default"]
    commit = raw.commit

    def counted():
        meter.commits += 1
        # BEGIN and COMMIT are sent by the driver; only SQLite's BEGIN goes through a cursor.
        meter.statements += ["BEGIN", "COMMIT"] if raw.vendor == "postgresql" else ["COMMIT"]
        commit()

    monkeypatch.setattr(raw, "commit", counted)
    with raw.execute_wrapper(meter):
        yield meter


def test_five_database_steps_cost_five_commits_besides_the_insert_and_at_most_21_statements(meter):
    """W9"""
    job = Errand.objects.run()

    commits_made, sent = meter.commits, list(meter.statements)
    assert job.status == "done"
    assert commits_made == 5  # the INSERT commits by itself
    assert len(sent) <= 21, sent
    assert sum(statement.startswith('INSERT INTO "app_errand"') for statement in sent) == 1


def test_one_receipt_is_one_update(meter):
    Errand.objects.run()

    assert sum(statement.startswith('UPDATE "app_errand"') for statement in meter.statements) == 5


def test_a_claim_costs_one_statement_more_on_postgresql(meter):
    job = Errand.objects.start()
    meter.statements.clear()

    job.run()

    claiming = [one for one in meter.statements if "SKIP LOCKED" in one or one.startswith("WITH picked")]
    assert len(claiming) == (1 if connection.vendor == "postgresql" else 0)
    # claim, five times four, and the final look at the row
    assert len(meter.statements) <= (22 if connection.vendor == "postgresql" else 25), meter.statements


def test_an_external_step_costs_one_update_in_one_commit(meter):
    job = Told.objects.start()
    meter.commits = 0

    job.run()

    assert meter.commits == 3


def test_a_record_body_costs_what_it_writes(meter, tmp_path):
    job = Posting.objects.start(calls=str(tmp_path / "calls"))
    meter.commits = 0

    job.run()

    assert job.status == "done"
    assert meter.commits == 5


def test_starting_without_a_hook_costs_one_statement_and_no_transaction(meter):
    Told.objects.start(key="k")

    assert (len(meter.statements), meter.commits) == (1, 0)
