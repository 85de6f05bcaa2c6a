"""Wrong use of `manage.py reconcile`: exit 2, one clear sentence with what to do, never a traceback. S10"""

import pytest
from django.db import connection

from .actors import manage, url_of
from .marks import commits

pytestmark = commits


def refused(*options: str, **environment: str) -> str:
    """Run the command as an operator would; assert that it was refused politely; return what it said."""
    answer = manage("reconcile", *options, **environment)
    assert answer.returncode == 2, (answer.returncode, answer.stdout, answer.stderr)
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""
    return answer.stderr


def test_an_unknown_kind_names_those_there_are():
    said = refused("--kind", "nosuch")

    assert "there is no kind 'nosuch'" in said
    assert "app.told" in said


def test_a_database_that_is_down_says_what_to_check():
    url = "postgres://nobody@127.0.0.1:1/none" if connection.vendor == "postgresql" else "sqlite:////no/such/place/db"

    said = refused(DATABASE_URL=url)

    assert "The database cannot be used" in said
    assert "DATABASES" in said


@pytest.fixture
def empty_database(tmp_path):
    """The URL of a database without a table."""
    if connection.vendor == "sqlite":
        yield url_of(str(tmp_path / "empty.sqlite3"))
        return
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE known_state_empty")
    yield url_of("known_state_empty")
    with connection.cursor() as cursor:
        cursor.execute("DROP DATABASE known_state_empty")


def test_a_database_that_is_not_migrated_says_migrate(empty_database):
    said = refused(DATABASE_URL=empty_database)

    assert "not migrated" in said
    assert "manage.py migrate" in said


def test_options_that_clash_are_refused_by_name():
    assert "--watch does not go with --limit" in refused("--watch", "--limit", "3")


def test_a_value_that_makes_no_sense_is_quoted_back():
    assert "'two' is not a whole number from 1 to 1000" in refused("--threads", "two")
