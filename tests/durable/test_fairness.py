"""A slow or hung run holds up no other."""

import threading

import pytest
from django.test import override_settings

from durable.runner import Reconciler
from durable.shutdown import Shutdown
from durable.testing import run_until_settled
from tests.app.models import Errand, Told

from .actors import Meanwhile, until
from .marks import commits

pytestmark = commits


@override_settings(DURABLE={"LEASE": 1.5, "STEP_TIMEOUT": 1.5})
def test_runs_claimed_together_with_one_that_hangs_are_given_back(hooks):
    """C05: quick runs are claimed several at a time; a hung one among them must not keep the others."""
    began, go = threading.Event(), threading.Event()
    jobs = [Told.objects.start(note=str(number)) for number in range(8)]

    def hang_at_the_fourth(job):
        if job.note == "3" and not began.is_set():
            began.set()
            assert go.wait(20)

    hooks["two"] = hang_at_the_fourth

    def boot():
        reconciler = Reconciler([Told], Shutdown(grace=0), threads=1)
        reconciler.prepare()
        return reconciler.run_pass()

    stuck = Meanwhile(boot)
    assert began.wait(10)
    until(lambda: Told.objects.filter(status="running", fence=1, lease_expires_at__isnull=False).count() <= 1, within=8)
    others = [job for job in jobs if job.note != "3"]

    def all_others_done():
        run_until_settled_where_free()
        return Told.objects.filter(pk__in=[job.pk for job in others], status="done").count() == len(others)

    until(all_others_done, within=8)
    given_back = Told.objects.filter(pk__in=[job.pk for job in others], losses=0, failures=[]).count()
    go.set()
    stuck.result()

    assert given_back == len(others)


def run_until_settled_where_free() -> None:
    try:
        run_until_settled(Told, passes=1)
    except AssertionError:
        return


def test_kinds_take_turns(hooks):
    """A kind with many due runs starves no other."""
    order = []
    for _ in range(30):
        Errand.objects.start()
    told = Told.objects.start()
    hooks["one"] = lambda job: order.append(Errand.objects.filter(status="done").count())

    run_until_settled(Errand, Told)

    assert order[0] < 30
    told.refresh_from_db()
    assert told.status == "done"


def test_what_has_waited_longest_is_taken_first(hooks):
    from durable.clock import InSeconds

    order = []
    hooks["one"] = lambda job: order.append(job.note)
    for note, due in (("second", -10), ("first", -20), ("third", -5)):
        job = Told.objects.start(note=note)
        Told.objects.filter(pk=job.pk).update(due_at=InSeconds(due))

    run_until_settled(Told)

    assert order == ["first", "second", "third"]


@pytest.mark.postgres
def test_a_run_that_somebody_is_taking_is_skipped_not_waited_for():
    from django.db import transaction

    from durable.contract import claim

    first, second = Told.objects.start(), Told.objects.start()
    locked, go = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            Told.objects.select_for_update().get(pk=first.pk)
            locked.set()
            assert go.wait(10)

    holder = Meanwhile(hold)
    assert locked.wait(10)

    taken = claim(Told, using="default", owner="b", lease=60, limit=5)
    go.set()
    holder.result()

    assert [run.pk for run, _ in taken] == [second.pk]
