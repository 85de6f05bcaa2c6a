"""The values `manage.py reconcile` takes: what it does not take is refused with a sentence, in this process."""

import pytest
from django.core.management import CommandError, call_command

from tests.app.models import Told

from .marks import commits

pytestmark = commits


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--threads", "0"), ("--threads", "1001"), ("--threads", "two"), ("--threads", "-1"),
        ("--limit", "0"), ("--limit", "1.5"), ("--wait", "-1"), ("--wait", "soon"), ("--wait", "nan"), ("--format", "xml"),
    ],
)  # fmt: skip
def test_a_value_that_makes_no_sense_is_quoted_back(option, value):
    with pytest.raises(CommandError, match=value):
        call_command("reconcile", f"{option}={value}")


@pytest.mark.parametrize("options", [["--kind", "nosuch"], ["--explain", "nosuch", "x"]])
def test_an_unknown_kind_is_exit_2(options):
    with pytest.raises(CommandError, match=r"there is no kind 'nosuch'; kinds: app\.budgeted") as refused:
        call_command("reconcile", *options)

    assert refused.value.returncode == 2


def test_an_unknown_run_is_exit_2_and_says_where_to_look():
    with pytest.raises(CommandError, match=r"app\.told has no run with the id or key 'x'; --list") as refused:
        call_command("reconcile", "--explain", "told", "x")

    assert refused.value.returncode == 2


@pytest.mark.parametrize(
    "names",
    [
        ("watch", "limit"), ("watch", "wait"), ("watch", "due_only"), ("watch", "dry_run"), ("list", "dry_run"),
        ("list", "due_only"), ("list", "wait"), ("dry_run", "threads"),
    ],
)  # fmt: skip
def test_two_options_that_clash_are_both_named(names):
    given = [f"--{name.replace('_', '-')}" for name in names]
    values = {"limit": "3", "wait": "3", "threads": "3"}
    options = [part for name, option in zip(names, given, strict=True) for part in (option, values.get(name)) if part]

    with pytest.raises(CommandError) as refused:
        call_command("reconcile", *options)

    assert refused.value.returncode == 2
    assert all(option in str(refused.value) for option in given)


def test_a_clash_touches_no_run():
    job = Told.objects.start()

    with pytest.raises(CommandError):
        call_command("reconcile", "--watch", "--limit", "1")

    job.refresh_from_db()
    assert job.fence == 0
