"""The check that reminds of a job which no admin shows, and the terminal, which says what the admin says."""

import io
import json

import pytest
from django.core.management import call_command
from django.test import override_settings
from django.utils import translation

from durable.checks import check_admin
from durable.explain import explain
from durable.terminal import printable

from . import scenes
from .test_run_page import shown


def test_durable_i001():
    labels = {problem.obj._meta.label: problem for problem in check_admin()}

    assert "accounts.AccountDeletion" not in labels
    assert labels["app.Told"].id == "durable.I001"
    assert labels["app.Told"].hint.startswith("In an admin.py: admin.site.register(Told, RunAdmin)")


def test_without_the_admin_nobody_is_reminded():
    with override_settings(INSTALLED_APPS=["django.contrib.contenttypes", "durable"]):
        assert check_admin([]) == []


@pytest.fixture(autouse=True)
def a_terminal_that_can_do_more_than_a_typewriter(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def said(*options, terminal=False):
    out = Terminal() if terminal else io.StringIO()
    call_command("reconcile", *options, stdout=out, skip_checks=True)
    return out.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize("terminal", [False, True])
def test_the_terminal_and_the_admin_say_the_same(staff, terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    run = scenes.dead()

    told = said("--explain", "accountdeletion", run.key, terminal=terminal)

    sentence = explain(run)
    assert sentence in told
    assert sentence.removeprefix("Given up: ").replace("'", "&#x27;") in shown(staff, run).replace("&quot;", '"')


@pytest.mark.django_db
def test_at_a_terminal_there_is_a_table_with_a_bar_and_elsewhere_plain_lines(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    scenes.waiting()

    at_a_terminal, in_a_pipe = said("--list", terminal=True), said("--list")

    assert "━" in at_a_terminal
    assert "2 of 5" in at_a_terminal
    assert "\x1b[" in at_a_terminal
    assert in_a_pipe.startswith("accounts.accountdeletion delete:41: Waiting: retried by itself in ")
    assert "\x1b" not in in_a_pipe


@pytest.mark.django_db
@pytest.mark.parametrize("options", [["--list"], ["--explain", "accountdeletion", "delete:45"]])
@pytest.mark.parametrize("terminal", [False, True])
def test_an_error_cannot_steer_a_terminal(options, terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    run = scenes.dead(said="\x1b[2J\x1b]0;owned\x07 [bold red]no[/]")
    type(run).objects.filter(pk=run.pk).update(status="pending", due_at=scenes.InSeconds(60))

    told = said(*options, terminal=terminal)

    assert "\x1b[2J" not in told
    assert "\x07" not in told
    assert "\\x1b[2J" in told
    assert "[bold red]no[/]" in told


@pytest.mark.django_db
def test_json_tells_where_a_run_stands_in_words_that_do_not_change():
    scenes.lapsed()

    with translation.override("de"):
        [row] = json.loads(said("--list", "--format", "json"))

    assert (row["standing"], row["stuck"], row["progress"]) == ("lapsed", True, {"done": 1, "all": 5})


def test_printable_keeps_what_people_write():
    assert printable("Grüße, 世界\n✓ – …") == "Grüße, 世界\n✓ – …"
