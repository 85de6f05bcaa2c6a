"""
SIGTERM, SIGINT, SIGHUP, a second one, a shell in between, process 1: the step in hand is finished within the grace, or cut
off and its run released at once. An interrupted attempt does not burn the budget.
"""

import os
import signal

import pytest

from tests.needs import may_unshare

from .app.models import Call, Chore, Effect
from .server import children_of
from .workers import until

pytestmark = pytest.mark.postgres
IN_PASS, IN_WATCH = (), ("--watch",)


def in_the_long_step(model=Chore) -> bool:
    """Whether the job's first receipt is there, or the call went out, and the long step began."""
    job = model.objects.first()
    return job.status == "running" and (model is Call or job.begin_at is not None)


def begin(workers, options, model=Chore, *, seconds: float, before=(), **durable):
    job = model.objects.start(seconds=seconds)
    worker = workers.start(*options, before=before, durable=durable)
    until(lambda: in_the_long_step(model), "the long step to begin")
    said = workers.ledger if model is Call else workers.ledger.with_name(workers.ledger.name + ".long")
    until(said.exists, "the long step to be in its body")
    return job, worker


def is_free(job) -> bool:
    job.refresh_from_db()
    return job.status == "pending" and job.lease_expires_at is None and job.owner == ""


BOTH = pytest.mark.parametrize(
    "options", [pytest.param(IN_PASS, id="boot pass", marks=pytest.mark.long), pytest.param(IN_WATCH, id="watch")]
)
EACH = [
    pytest.param(signal.SIGTERM, IN_PASS, id="SIGTERM, boot pass"),
    pytest.param(signal.SIGTERM, IN_WATCH, id="SIGTERM, watch"),
    pytest.param(signal.SIGINT, IN_WATCH, id="SIGINT, watch", marks=pytest.mark.long),
    pytest.param(signal.SIGHUP, IN_WATCH, id="SIGHUP, watch"),
    pytest.param(signal.SIGINT, IN_PASS, id="SIGINT, boot pass", marks=pytest.mark.long),
    pytest.param(signal.SIGHUP, IN_PASS, id="SIGHUP, boot pass", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("number", "options"), EACH)
def test_a_signal_lets_the_step_in_hand_finish_and_leaves_the_rest_to_the_next(number, options, workers):
    job, worker = begin(workers, options, seconds=1.0)

    worker.send(number)
    worker.ends(5)

    assert is_free(job), worker.said
    assert job.last_long_at is not None
    assert (job.attempts, job.failures) == (0, [])
    assert workers.passes().process.returncode == 0
    assert Effect.objects.filter(run=job.pk).count() == 4


@BOTH
@pytest.mark.parametrize("model", [Chore, Call])
def test_a_step_that_outlasts_the_grace_is_cut_off_and_its_run_released_at_once(model, options, workers):
    job, worker = begin(workers, options, model, seconds=30, GRACE=0.5)

    worker.send(signal.SIGTERM)
    status = worker.ends(5)

    assert is_free(job), worker.said
    assert (job.attempts, job.losses) == (0, 0)
    assert status == (0 if options else 1)
    model.objects.update(seconds=0)
    workers.passes()
    job.refresh_from_db()
    assert job.status == "done"
    assert Effect.objects.filter(run=job.pk).count() == (4 if model is Chore else 1)


@BOTH
def test_a_second_signal_does_not_wait_for_the_grace(options, workers):
    job, worker = begin(workers, options, seconds=30, GRACE=60.0)

    worker.send(signal.SIGTERM)
    until(lambda: "asked to stop signal=SIGTERM" in worker.said)  # two that arrive together are one
    worker.send(signal.SIGTERM)
    worker.ends(10)

    assert is_free(job), worker.said
    assert job.attempts == 0


SHELLS = {"exec": ["sh", "-c", 'exec "$@"', "sh"], "a shell above": ["sh", "-c", '"$@"; exit $?', "sh"]}


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_a_deploy_through_a_shell_stops_the_worker(shell, workers):
    """A shell above does not pass a signal on; what stops a container sends it to the whole group, or kills."""
    job, worker = begin(workers, IN_WATCH, seconds=1.0, before=shell)

    os.killpg(worker.pid, signal.SIGTERM)
    worker.ends(6)

    until(lambda: is_free(job), worker.said, seconds=5)
    assert job.last_long_at is not None


def test_a_worker_that_is_process_one_hears_its_signals(workers):
    assert may_unshare("--pid", "--fork"), "this test makes a worker process 1, which needs root: unshare --pid --fork"
    job, worker = begin(workers, IN_WATCH, seconds=1.0, before=["unshare", "--pid", "--fork", "--mount-proc"])
    (one,) = children_of(worker.pid)

    os.kill(one, signal.SIGTERM)
    worker.ends(6)

    assert is_free(job), worker.said
    assert job.last_long_at is not None
    assert job.attempts == 0


def test_three_deploys_during_one_long_step_cost_no_attempt(workers):
    deploys(3, workers)


@pytest.mark.long
def test_ten_deploys_during_one_long_step_cost_no_attempt(workers):
    deploys(10, workers)


def deploys(times: int, workers) -> None:
    """Stop a worker so often in the middle of one long step; then let it be short, and finish."""
    job = Chore.objects.start(seconds=30)

    for _ in range(times):
        worker = workers.start("--watch", durable={"GRACE": 0.2})
        until(lambda: in_the_long_step(), "the long step to begin")
        worker.send(signal.SIGTERM)
        worker.ends(8)
        assert is_free(job), worker.said

    assert (job.attempts, job.losses, job.failures) == (0, 0, [])
    Chore.objects.update(seconds=0)
    workers.passes()
    job.refresh_from_db()
    assert job.status == "done"
    assert Effect.objects.filter(run=job.pk).count() == 4
