"""
The worker is killed with SIGKILL at each statement, on PostgreSQL and on SQLite; a boot pass finishes what it left.
"""

import pytest
from django.core.management import call_command
from django.test.utils import override_settings

from durable.testing import assert_survives

from . import results
from .server import orm_on
from .subjects import SUBJECTS
from .workers import QUICK, Workers


def survives(subject, database: str, crew) -> None:
    repeats = []

    survived = assert_survives(
        subject.start, check=lambda run: repeats.append(subject.check(run, crew.ledger)), decide=subject.decide
    )

    assert survived.points >= subject.fewest
    results.keep("matrix", f"worker killed during run, {subject.name}, {database}", database=database,
                 boundaries=survived.points, lost=0, doubled=0, outside_repeats=sum(repeats),
                 **{"by itself": 0, "by the next boot pass": survived.points})  # fmt: skip


@pytest.mark.postgres
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_a_worker_killed_at_any_statement_loses_and_repeats_nothing(subject, workers):
    survives(subject, "PostgreSQL", workers)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_a_worker_killed_at_any_statement_on_sqlite_loses_and_repeats_nothing(
    subject, tmp_path, monkeypatch, django_db_blocker, django_db_setup
):
    crew = Workers(tmp_path, f"sqlite:///{tmp_path}/crash.sqlite3")
    monkeypatch.setenv("CRASH_LEDGER", str(crew.ledger))
    with django_db_blocker.unblock(), orm_on(crew.url), override_settings(DURABLE=QUICK):
        call_command("migrate", verbosity=0, run_syncdb=True)

        survives(subject, "SQLite", crew)
