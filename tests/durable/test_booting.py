"""Loading the app never touches the database: it may be down, or empty. C36"""

import pytest

from .actors import manage
from .marks import commits

pytestmark = commits


UNREACHABLE = "postgres://nobody@127.0.0.1:1/none"


@pytest.mark.postgres  # newer Djangos open a SQLite file to check JSONField themselves
def test_checks_pass_with_the_database_down():
    """C36"""
    answer = manage("check", DATABASE_URL=UNREACHABLE)

    assert answer.returncode == 0, answer.stderr


@pytest.mark.postgres
def test_migrations_are_compared_with_the_database_down():
    """C36: Django itself warns that it could not look at the history; nothing of ours asks for it."""
    import os
    import subprocess
    import sys

    from .actors import ROOT

    answer = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-W", "ignore:Got an error checking a consistent:RuntimeWarning",
         str(ROOT / "manage.py"), "makemigrations", "--check", "--dry-run"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "DATABASE_URL": UNREACHABLE, "DJANGO_SETTINGS_MODULE": "tests.settings"},
    )  # fmt: skip

    assert answer.returncode == 0, answer.stderr
    assert "No changes detected" in answer.stdout


def test_an_empty_database_is_migrated_without_a_warning(tmp_path):
    """C36"""
    answer = manage("migrate", "--verbosity", "0", DATABASE_URL=f"sqlite:///{tmp_path / 'empty.sqlite3'}")

    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
