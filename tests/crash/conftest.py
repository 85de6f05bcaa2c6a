"""Fixtures of the crash suite: a server to kill, workers that never outlive their test, a ledger outside any database."""

import os

import pytest
from django.db import connections
from django.test.utils import override_settings

from .server import migrated_server, orm_on
from .workers import QUICK, Workers

TABLES = (
    "crash_effect, crash_parcel, crash_move, crash_chore, crash_call, crash_trouble, durable_message, durable_attempt,"
    " durable_operation, durable_plan, durable_planreceipt, durable_decision"
)


@pytest.fixture(scope="module")
def server(django_db_blocker, django_db_setup):
    """The module's own PostgreSQL."""
    with migrated_server(django_db_blocker) as server:
        yield server


@pytest.fixture
def workers(server, tmp_path, monkeypatch, django_db_blocker):
    """Start workers on the module's server; Django's default connection of this process leads there too."""
    crew = Workers(tmp_path, server.url)
    monkeypatch.setenv("CRASH_LEDGER", str(crew.ledger))
    server.ask(f"TRUNCATE {TABLES}")
    with django_db_blocker.unblock(), orm_on(server.url), override_settings(DURABLE=QUICK):
        try:
            yield crew
        finally:
            crew.kill_all()
            connections.close_all()


@pytest.fixture(autouse=True)
def no_worker_of_ours_is_left():
    """Fail a test that leaves a process behind."""
    yield
    left = [pid for pid in _children() if "manage.py" in pid[1]]
    assert not left, f"left behind: {left}"


def _children() -> list[tuple[int, str]]:
    from pathlib import Path

    from .server import children_of

    found = []
    for pid in children_of(os.getpid()):
        try:
            found.append((pid, Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")))
        except OSError:
            continue
    return found
