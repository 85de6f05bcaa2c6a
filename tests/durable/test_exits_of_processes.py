"""A step that ends its process releases the run first: the next pass goes on at once. C08."""

import pytest

from durable.testing import run_until_settled
from tests.app.models import Told

from .actors import Forked
from .marks import commits

pytestmark = commits


@pytest.mark.parametrize("step", ["one", "two"])
@pytest.mark.parametrize(
    ("order", "name", "status"), [("exit 3", "SystemExit", 3), ("interrupt", "KeyboardInterrupt", 130)]
)
def test_the_process_ends_and_its_run_is_free_at_once(step, order, name, status, effects):
    """C08: only `Exception` was caught elsewhere, and the run stayed taken for ever."""
    job = Told.objects.start(orders={step: order})

    child = Forked(job.run)
    ended = child.wait()

    assert ended == status, child.said
    job.refresh_from_db()
    assert (job.status, job.lease_expires_at, job.owner) == ("pending", None, "")
    assert job.last_error.startswith(name)
    assert job.failures[0]["step"] == step
    assert effects(job) == ([] if step == "one" else ["one"])


def test_the_pass_right_after_carries_on(effects):
    """C08"""
    job = Told.objects.start(orders={"two": "exit 1"})
    Forked(job.run).wait()
    Told.objects.update(orders={})

    run_until_settled(Told)

    job.refresh_from_db()
    assert job.status == "done"
    assert job.losses == 0
    assert effects(job) == ["one", "three"]


def test_an_interrupted_run_is_due_without_backoff():
    job = Told.objects.start(orders={"one": "interrupt"})

    Forked(job.run).wait()

    assert Told.objects.due().filter(pk=job.pk).exists()


def test_the_reconciler_passes_the_exit_on_after_releasing(effects):
    """C08, in a worker thread of the reconciler as in the main one."""
    from django.core.management import call_command

    for threads in ("1", "2"):
        job = Told.objects.start(orders={"two": "exit 9"})

        child = Forked(lambda threads=threads: call_command("reconcile", "--threads", threads, verbosity=0))
        ended = child.wait()

        assert ended == 9, child.said
        job.refresh_from_db()
        assert (job.status, job.lease_expires_at) == ("pending", None)
        job.cancel()
