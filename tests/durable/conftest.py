"""What every test of `durable` finds: a process without hooks, and short words for the effects of a run."""

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from hypothesis import settings

from tests.app.models import Effect
from tests.app.orders import HOOKS

from .actors import Forked, url_of

#: A busy machine is no bug: examples are not timed. What fails is printed so that it can be played again.
settings.register_profile("suite", deadline=None, max_examples=60, print_blob=True)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def hooks():
    """What this process does in a step, by the step's name."""
    HOOKS.clear()
    yield HOOKS
    HOOKS.clear()
    for child in [*Forked.running]:
        child.kill()


@pytest.fixture
def effects():
    """Return the names of what a run did, in the order it happened."""

    def of(run) -> list[str]:
        return list(Effect.objects.filter(run=run.pk).order_by("pk").values_list("name", flat=True))

    return of


@pytest.fixture
def report(record_property, request, capsys):
    """Print how many points a test killed a process at."""

    def say(what: str, points: int) -> None:
        record_property("kill points", points)
        with capsys.disabled():
            print(f"\n  {points} kill points: {what} ({connection.vendor})")

    return say


@pytest.fixture
def reconcile(capsys):
    """Run the command in this process; return (exit status, what it printed)."""

    def run(*options: str) -> tuple[int, str]:
        capsys.readouterr()
        code = 0
        try:
            call_command("reconcile", *options)
        except SystemExit as ended:
            code = ended.code
        return code, capsys.readouterr().out

    return run


@pytest.fixture
def beside(db):
    """Another session's look at the database."""
    with psycopg.connect(url_of(connection.settings_dict["NAME"]), autocommit=True) as other:
        yield lambda sql, *params: other.execute(sql, params).fetchall()
