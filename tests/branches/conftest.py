"""A Neon of our own behind a front that can spoil its answers."""

import pytest
from django.db.models.functions import Now

from durable import kinds, polling
from durable.models import Operation
from project.farside.front import Front
from project.farside.neon import BRANCH, PROJECT, Neon


@pytest.fixture
def neon():
    """Neon itself: what it has accepted, and in which order its statuses come."""
    with Neon() as server:
        yield server


@pytest.fixture
def front(neon, settings, tmp_path):
    """Neon as the site calls it. What a test leaves unused of its rules is an error in the test."""
    front = Front.start(neon.url, tmp_path / "neon-calls.jsonl")
    settings.BRANCH_RESET, settings.NEON_API_BASE, settings.NEON_API_KEY = "true", front.url, "secret-key"
    settings.NEON_PROJECT_ID, settings.NEON_BRANCH_ID = PROJECT, BRANCH
    yield front
    front.stop()
    assert front.unused() == []


@pytest.fixture
def reset(front):
    """Record a reset."""
    return lambda key="k1": polling.start("branch.reset", {"branch": BRANCH}, key=key, one_at_a_time=BRANCH, by="ada")


def make_due():
    kinds.rows_of(Operation).open().filter(lease_expires_at__isnull=True).update(due_at=Now(), held_until=None)


def look(operation, times=1):
    """Let a worker do what comes next, so many times; return how it stood after each."""
    states = []
    for _ in range(times):
        make_due()
        Operation.objects.get(pk=operation.pk).run()
        states.append(Operation.objects.get(pk=operation.pk).status)
    return states
