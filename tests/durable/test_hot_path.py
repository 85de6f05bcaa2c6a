"""
W9: what a five-step job does where nobody looks on, in counts that no busy machine changes: a guard against getting slower.

A change that makes it dearer must say so here, and why it is worth it. The least of several runs counts: a checkpoint or
the collector of another test may fall into one.
"""

import cProfile
import pstats
import sys

import pytest
from django.db import connection

from bench.counting import cost_of
from tests.app.models import Errand

from .marks import commits

pytestmark = [commits, pytest.mark.postgres]

RUNS = 8


@pytest.fixture(autouse=True)
def warm(db):
    for _ in range(3):
        Errand.objects.run()


def test_five_steps_are_18_statements_in_11_round_trips_and_6_commits():
    with cost_of(connection) as cost:
        Errand.objects.run()

    assert (cost.statements, cost.round_trips, cost.commits) == (18, 11, 6), cost.sent


def test_five_steps_write_no_more_wal_than_they_did():
    written = []
    for _ in range(RUNS):
        with cost_of(connection) as cost:
            Errand.objects.run()
        written.append(cost.wal_bytes)

    assert min(written) <= 4_000, written


def test_five_steps_make_no_more_python_calls_than_they_did():
    """Counted, not timed: what `python -m bench.hotpath` shows for a step, and the effect's own cost in the ORM."""
    counted = []
    for _ in range(RUNS):
        profile = cProfile.Profile()
        profile.runcall(Errand.objects.run)
        counted.append(pstats.Stats(profile).total_calls)

    assert min(counted) <= (3_500 if sys.version_info < (3, 12) else 3_600), counted
