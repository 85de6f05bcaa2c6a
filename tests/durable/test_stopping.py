"""SIGTERM: begin nothing new, finish or release what is in hand, end soon. Neither counts as an attempt. C09"""

import os
import signal
import time

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import override_settings

from durable.clock import InSeconds
from durable.runner import Reconciler
from durable.shutdown import Shutdown
from durable.testing import run_until_settled
from tests.app.models import Budgeted, Errand, Told

from .actors import Forked, manage_meanwhile, until
from .marks import commits

pytestmark = commits


def watching(**settings) -> Forked:
    def work():
        with override_settings(DURABLE={"POLL": 0.05, "THREADS": 2, "GRACE": 60, **settings}):
            call_command("reconcile", "--watch")

    return Forked(work)


def ask(child: Forked, number: int = signal.SIGTERM) -> None:
    """Ask a process to stop, and wait until it has noticed: it then counts the grace time in one more thread."""
    tasks = f"/proc/{child.pid}/task"
    before = {*os.listdir(tasks)}
    child.signal(number)
    until(lambda: {*os.listdir(tasks)} - before)


@pytest.fixture
def in_hand(tmp_path):
    """A job whose external step says it began, and ends when it is told to."""
    began, go = tmp_path / "began", tmp_path / "go"
    job = Told.objects.start(orders={"two": f"touch {began}; until {go}"})
    return job, began, go


@pytest.mark.parametrize("shell", [False, True], ids=["plain", "through a shell"])
def test_an_idle_watcher_ends_at_once_with_exit_0(shell, tmp_path):
    """C09, with the real manage.py."""
    done = tmp_path / "done"
    Told.objects.start(orders={"three": f"touch {done}"})
    child = manage_meanwhile("reconcile", "--watch", shell=shell, DURABLE_POLL="0.1")
    until(done.exists)
    until(lambda: Told.objects.filter(status="done").exists())

    asked = time.monotonic()
    child.send_signal(signal.SIGTERM)
    said, _ = child.communicate(timeout=10)

    assert child.returncode == 0, said
    assert time.monotonic() - asked < 5
    assert "Watching" in said
    assert "Reconciled: 1 done." in said
    assert "Stopped by SIGTERM" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_step_in_hand_is_finished_and_the_next_is_not_begun(in_hand, effects, number):
    job, began, go = in_hand
    child = watching()
    until(began.exists)

    ask(child, number)
    go.touch()
    ended = child.wait()

    assert ended == 0, child.said
    job.refresh_from_db()
    assert (job.status, job.lease_expires_at, job.attempts) == ("pending", None, 0)
    assert job.two_at is not None
    assert effects(job) == ["one"]
    assert " interrupted." in child.said


def test_what_was_released_is_carried_on_at_once(in_hand, effects):
    """C09: one effect per step, whoever did it."""
    job, began, go = in_hand
    child = watching()
    until(began.exists)
    ask(child)
    go.touch()
    child.wait()

    run_until_settled(Told)

    job.refresh_from_db()
    assert (job.status, job.losses, job.failures) == ("done", 0, [])
    assert effects(job) == ["one", "three"]


def test_after_the_grace_time_the_step_is_cut_off_and_released(in_hand):
    job, began, _ = in_hand
    child = watching(GRACE=0.2)
    until(began.exists)

    child.signal(signal.SIGTERM)
    ended = child.wait()

    assert ended == 0, child.said
    job.refresh_from_db()
    assert (job.status, job.lease_expires_at, job.attempts) == ("pending", None, 0)
    assert job.last_error.startswith("cut off by SIGTERM")


def test_a_second_signal_does_not_wait_for_the_grace_time(in_hand):
    job, began, _ = in_hand
    child = watching(GRACE=600)
    until(began.exists)

    ask(child, signal.SIGTERM)
    child.signal(signal.SIGTERM)
    ended = child.wait()

    assert ended == 0, child.said
    job.refresh_from_db()
    assert (job.status, job.lease_expires_at) == ("pending", None)


@pytest.mark.postgres
@pytest.mark.parametrize("threads", [1, 2])
def test_a_database_step_that_is_cut_off_is_rolled_back_and_free(tmp_path, effects, threads):
    began = tmp_path / "began"
    job = Told.objects.start(orders={"one": f"touch {began}; until {tmp_path}/never"})
    child = watching(GRACE=0.2, THREADS=threads)
    until(began.exists)

    child.signal(signal.SIGTERM)
    ended = child.wait()

    assert ended == 0, child.said
    job.refresh_from_db()
    assert (job.status, job.one_at, job.lease_expires_at) == ("pending", None, None)
    assert effects(job) == []


def test_a_boot_pass_stops_too_and_leaves_the_rest(in_hand, effects):
    job, began, go = in_hand
    rest = Told.objects.start()

    def boot():
        with override_settings(DURABLE={"THREADS": 1, "GRACE": 60}):
            call_command("reconcile")

    child = Forked(boot)
    until(began.exists)
    ask(child, signal.SIGTERM)
    go.touch()
    ended = child.wait()

    assert ended == 0, child.said
    assert "Stopped by SIGTERM" in child.said
    job.refresh_from_db()
    rest.refresh_from_db()
    assert (job.status, rest.status, rest.fence) == ("pending", "pending", 0)


def test_a_boot_pass_that_had_to_cut_off_a_step_is_exit_1(in_hand):
    job, began, _ = in_hand

    def boot():
        with override_settings(DURABLE={"GRACE": 0.2}):
            call_command("reconcile")

    child = Forked(boot)
    until(began.exists)

    child.signal(signal.SIGTERM)

    assert child.wait() == 1, child.said
    job.refresh_from_db()
    assert job.lease_expires_at is None


def test_a_watcher_takes_what_becomes_due_while_it_watches(tmp_path, effects):
    child = watching()
    job = Told.objects.start()

    until(lambda: Told.objects.get(pk=job.pk).status == "done")
    child.signal(signal.SIGTERM)

    assert child.wait() == 0, child.said
    assert effects(job) == ["one", "three"]


def test_a_watcher_retries_when_the_backoff_has_passed(tmp_path):
    calls, go = tmp_path / "calls", tmp_path / "go"
    job = Told.objects.start(orders={"two": f"line {calls} call; wait 0.2"})
    child = watching()
    until(lambda: calls.exists() and len(calls.read_text().splitlines()) >= 3)
    go.touch()

    child.signal(signal.SIGTERM)

    assert child.wait() == 0, child.said
    job.refresh_from_db()
    assert (job.status, job.attempts, job.failures) == ("pending", 0, [])


def test_a_worker_asked_to_stop_while_it_looks_for_work_takes_none_from_the_lanes_that_follow():
    """What its process gives back in that moment would be taken again by itself, and held by nobody."""
    shutdown, asked = Shutdown(grace=0), []
    reconciler = Reconciler([Told, Errand, Budgeted], shutdown, threads=1)
    reconciler.prepare()

    def stop_at_the_first_claim(execute, sql, params, many, context):
        if "fence" in sql and ("SKIP LOCKED" in sql or connection.vendor == "sqlite"):
            asked.append(sql)
            shutdown.asked.set()
        return execute(sql, params, many, context)

    for kind in (Told, Errand, Budgeted):
        kind.objects.start()
    for kind in (Told, Errand, Budgeted):
        kind.objects.update(due_at=InSeconds(60))
    with connection.execute_wrapper(stop_at_the_first_claim):
        reconciler.run_pass()

    tables = [kind._meta.db_table for kind in (Told, Errand, Budgeted)]
    assert len([table for table in tables if any(f'"{table}"' in sql for sql in asked)]) == 1
