"""Clocks of workers do not matter: leases and due times are the database's. S5, C06"""

import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from durable import clock
from durable.clock import InSeconds
from durable.contract import claim
from durable.testing import expire_leases
from tests.app.models import Told

from .marks import commits

pytestmark = commits


@pytest.fixture(params=[600, -600], ids=["ahead", "behind"])
def wrong_clock(request, monkeypatch):
    """Let this process's wall clock be ten minutes off."""
    seconds, now, wall, nanoseconds = request.param, timezone.now, time.time, time.time_ns
    monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(seconds=seconds))
    monkeypatch.setattr(time, "time", lambda: wall() + seconds)
    monkeypatch.setattr(time, "time_ns", lambda: nanoseconds() + seconds * 10**9)
    return seconds


def seconds_from_now(moment) -> float:
    return (moment - clock.read(connection)).total_seconds()


def test_a_lease_of_four_more_minutes_is_not_taken_by_a_clock_that_is_ahead(wrong_clock):
    """C06"""
    job = Told.objects.start()
    Told.objects.filter(pk=job.pk).update(status="running", owner="a", lease_expires_at=InSeconds(240))

    taken = claim(Told, using="default", owner="b", lease=60)

    assert taken == []


def test_a_lease_is_as_long_as_it_says_whatever_the_claimers_clock(wrong_clock):
    """C06"""
    Told.objects.start()

    [(run, right)] = claim(Told, using="default", owner="b", lease=60)
    given = seconds_from_now(run.lease_expires_at)
    right.renew()
    run.refresh_from_db()

    assert 55 < given <= 60
    assert 55 < seconds_from_now(run.lease_expires_at) <= 60


def test_a_due_time_is_anchored_on_the_databases_clock(wrong_clock):
    job = Told.objects.start(orders={"one": "wait 100"})

    job.run()

    assert 95 < seconds_from_now(job.due_at) <= 100


def test_receipts_are_stamped_by_the_database(wrong_clock):
    job = Told.objects.run()

    assert abs(seconds_from_now(job.one_at)) < 5
    assert abs(seconds_from_now(job.created_at)) < 5
    assert job.created_at <= job.one_at <= job.two_at <= job.three_at <= job.settled_at


def test_a_lapsed_lease_is_one_the_database_says_has_lapsed(wrong_clock):
    job = Told.objects.start()
    claim(Told, using="default", owner="a", lease=60)

    expire_leases(job)

    assert len(claim(Told, using="default", owner="b", lease=60)) == 1
