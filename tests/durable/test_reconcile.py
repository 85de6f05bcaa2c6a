"""`manage.py reconcile` and its options, as a boot script, a cron line or a person uses them."""

import time

import pytest
from django.db import connection
from django.test import override_settings

from durable.clock import InSeconds
from tests.app.models import Errand, Told

from .marks import commits

pytestmark = commits


def held(job, seconds: float, owner: str = "elsewhere/7") -> None:
    type(job).objects.filter(pk=job.pk).update(
        status="running", owner=owner, fence=1, lease_expires_at=InSeconds(seconds)
    )


def test_everything_settled_is_exit_0_and_a_count(reconcile, effects):
    jobs = [Errand.objects.start() for _ in range(3)]

    code, said = reconcile()

    assert (code, said.strip()) == (0, "Reconciled: 3 done.")
    assert all(effects(job) == ["one", "two", "three", "four", "five"] for job in jobs)


def test_nothing_to_do_is_exit_0_and_says_so(reconcile):
    assert reconcile() == (0, "Nothing to reconcile.\n")


def test_a_failure_is_exit_1_with_a_sentence_naming_the_run(reconcile):
    job = Told.objects.start(key="close:7", orders={"one": "fail down"})

    code, said = reconcile()

    assert code == 1
    assert "app.told close:7: Waiting: retried by itself in" in said
    assert "Last: ValueError: down" in said
    assert "Reconciled: 1 failed." in said
    assert job.status == "pending"


def test_a_job_that_waits_is_no_failure(reconcile):
    Told.objects.start(orders={"one": "wait 60"})

    assert reconcile() == (0, "Reconciled: 1 waiting.\n")


def test_a_boot_retries_whatever_the_backoff_says_and_due_only_honours_it(reconcile):
    job = Told.objects.start(orders={"one": "fail"})
    job.run()
    Told.objects.update(orders={})

    patient = reconcile("--due-only")
    boot = reconcile()

    assert patient == (0, "Nothing to reconcile.\n")
    assert boot == (0, "Reconciled: 1 done.\n")


def test_only_the_named_kinds_are_touched(reconcile):
    told, errand = Told.objects.start(), Errand.objects.start()

    by_label, by_name = reconcile("--kind", "app.Told"), reconcile("--kind", "errand")

    assert by_label == by_name == (0, "Reconciled: 1 done.\n")
    told.refresh_from_db()
    errand.refresh_from_db()
    assert told.status == errand.status == "done"


def test_a_limit_stops_after_so_many(reconcile):
    for _ in range(5):
        Errand.objects.start()

    code, said = reconcile("--limit", "2")

    assert (code, said) == (0, "Reconciled: 2 done.\n")
    assert Errand.objects.open().count() == 3


@pytest.mark.postgres
def test_threads_carry_on_runs_side_by_side(reconcile, hooks):
    import threading

    together = threading.Barrier(3, timeout=10)
    hooks["two"] = lambda job: together.wait() > 9 or None
    for _ in range(3):
        Told.objects.start()

    code, said = reconcile("--threads", "3")

    assert (code, said) == (0, "Reconciled: 3 done.\n")


def test_more_threads_than_runs_do_no_harm(reconcile, effects):
    jobs = [Errand.objects.start() for _ in range(4)]

    code, _ = reconcile("--threads", "4")

    assert code == 0
    assert all(len(effects(job)) == 5 for job in jobs)


def test_runs_held_by_others_are_left_to_them(reconcile):
    job = Told.objects.start()
    held(job, 60)

    assert reconcile() == (0, "Nothing to reconcile.\n")


def test_wait_waits_for_the_leases_of_the_dead(reconcile):
    job = Told.objects.start()
    held(job, 3)
    began = time.monotonic()

    code, said = reconcile("--wait", "10")

    assert code == 0
    assert "s for a lease to lapse." in said
    assert "Reconciled: 1 done." in said
    assert time.monotonic() - began < 10
    job.refresh_from_db()
    assert job.failures[0]["type"] == "WorkerLost"


def test_wait_does_not_wait_for_a_lease_beyond_its_patience(reconcile):
    held(Told.objects.start(), 60)
    began = time.monotonic()

    reconcile("--wait", "5")

    assert time.monotonic() - began < 4


def test_a_dry_run_says_what_it_would_take_and_takes_nothing(reconcile):
    due, elsewhere = Told.objects.start(key="mine"), Told.objects.start()
    held(elsewhere, 60)
    before = list(Told.objects.order_by("pk").values())

    code, said = reconcile("--dry-run", "--kind", "told")

    assert code == 0
    assert "app.told: would take 1, held by others 1" in said
    assert "would take mine: Due" in said
    assert list(Told.objects.order_by("pk").values()) == before
    assert due.status == "pending"


def test_a_list_shows_the_open_runs_alone(reconcile):
    Told.objects.run(key="over")
    Told.objects.start(key="open")

    code, said = reconcile("--list")

    assert code == 0
    assert said.startswith("app.told open: Due")
    assert "over" not in said


def test_an_empty_list_says_so(reconcile):
    assert reconcile("--list") == (0, "No open run.\n")


@pytest.mark.parametrize("by", ["key", "pk"])
def test_one_run_is_explained_by_key_or_id_with_receipts_and_failures(reconcile, by):
    job = Told.objects.start(key="close:7", orders={"two": "fail down"})
    job.run()

    code, said = reconcile("--explain", "Told", str(getattr(job, by)))

    assert code == 0
    lines = said.splitlines()
    assert lines[0] == "app.told close:7"
    assert lines[1].startswith("Waiting: retried by itself")
    assert lines[2].startswith("  ✓ one  exactly once  ")
    assert lines[3] == "  ○ two  idempotent  -  starts: 1"
    assert "ValueError: down" in lines[5]


def test_verbosity_0_says_nothing(reconcile):
    Errand.objects.start()

    assert reconcile("--verbosity", "0") == (0, "")


@override_settings(DURABLE={"THREADS": 2})
def test_eight_passes_at_once_do_everything_once(effects):
    """Eight boots at the same time, in threads; every effect exactly once."""
    from durable.runner import Reconciler
    from durable.shutdown import Shutdown

    from .actors import Meanwhile

    jobs = [Errand.objects.start() for _ in range(12)]

    def boot():
        reconciler = Reconciler([Errand], Shutdown(grace=0))
        reconciler.prepare()
        return reconciler.run_pass()

    passes = [Meanwhile(boot) for _ in range(8 if connection.vendor == "postgresql" else 2)]
    reports = [one.result(within=60) for one in passes]

    assert sum(report.outcomes["done"] for report in reports) == 12
    assert not any(report.failed for report in reports)
    assert all(len(effects(job)) == 5 for job in jobs)
