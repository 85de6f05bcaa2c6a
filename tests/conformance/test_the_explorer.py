"""The explorer itself: merging states loses no end, and what it calls waiting is waiting in the database."""

from __future__ import annotations

import logging

import pytest

from .exploring import explore
from .programs import staff, time_passes, worker
from .stage import Stage
from .subjects import Jobs

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

JOBS = Jobs()


@pytest.fixture
def stage(caplog):
    caplog.set_level(logging.CRITICAL, logger="durable")
    stage = Stage(JOBS, hands=3)
    yield stage
    stage.close()


def test_giving_up_at_states_seen_before_loses_no_end(stage):
    def parts():
        return [worker("A"), time_passes(), worker("B")]

    with JOBS.deployed(("close",)):
        every = explore(stage, parts, JOBS.make, merge=False)
        merged = explore(stage, parts, JOBS.make)

    assert every.complete
    assert every.ends == merged.ends
    assert merged.schedules < every.schedules


def test_the_same_program_is_explored_the_same_way_twice(stage):
    with JOBS.deployed(("close",)):
        first, second = (explore(stage, lambda: [worker("A"), staff("cancel")], JOBS.make) for _ in range(2))

    assert (first.schedules, first.states, first.ends) == (second.schedules, second.states, second.ends)
    assert first.waits == second.waits > 0
