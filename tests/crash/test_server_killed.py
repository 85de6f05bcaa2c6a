"""
The database server is killed with SIGKILL at each statement of a job and of a boot pass, and started again.

The job has a budget of one attempt: a server that restarts is nobody's failure, and must not cost it.
"""

import contextlib

import pytest
from django.db import DatabaseError, InterfaceError, connections
from django.db.models.functions import Now

from durable import Backoff, runner
from durable.attempt import Outcome
from durable.runner import Reconciler
from durable.shutdown import Shutdown
from durable.testing import expire_leases

from . import results
from .boundaries import at_boundary, count
from .subjects import SUBJECTS

pytestmark = pytest.mark.postgres
LOST = (DatabaseError, InterfaceError)


def boot_pass(model) -> None:
    """What `manage.py reconcile` does for that kind, in this thread."""
    reconciler = Reconciler([model], Shutdown(grace=0), threads=1)
    reconciler.prepare()
    reconciler.run_pass()


def finish(subject, run) -> None:
    """Boot passes until it is settled, and nobody has anything to decide; leases of the dead lapse between them."""
    for _ in range(5):
        run.refresh_from_db()
        if run.status in run.MACHINE.terminal and not subject.decide(run):
            return
        expire_leases(run)
        type(run).objects.filter(pk=run.pk, lease_expires_at__isnull=True, due_at__isnull=False).update(due_at=Now())
        boot_pass(type(run))


#: The suite of every day kills the server under two shapes, `make reliability` under all.
SHAPES = [
    pytest.param(subject, id=subject.name, marks=[] if subject.name in ("job", "message") else [pytest.mark.long])
    for subject in SUBJECTS
]


@pytest.mark.parametrize("subject", SHAPES)
@pytest.mark.parametrize("what", ["run", "reconcile"])
def test_a_server_killed_at_any_statement_loses_and_repeats_nothing(what, subject, server, workers, monkeypatch):
    subject.budget(monkeypatch, Backoff(base=0.1, attempts=1))
    work = {"run": lambda run: run.run(), "reconcile": lambda run: boot_pass(type(run))}[what]
    points = count(lambda: work(subject.start()))
    outcomes = {"by itself": 0, "by the next boot pass": 0}
    repeats = 0

    for number in range(points):
        run = subject.start()
        with at_boundary(number, server.restart_after_kill) as passed, contextlib.suppress(LOST):
            work(run)
        connections.close_all()
        run.refresh_from_db()
        by_itself = run.status == run.MACHINE.done
        outcomes["by itself" if by_itself else "by the next boot pass"] += 1
        finish(subject, run)
        try:
            repeats += subject.check(run, workers.ledger)
        except AssertionError as error:
            raise AssertionError(f"killed at boundary {number} of {points} ({passed[number]}): {error}") from error

    results.keep("matrix", f"server killed during {what}, {subject.name}", database="PostgreSQL", boundaries=points,
                 lost=0, doubled=0, outside_repeats=repeats, **outcomes)  # fmt: skip
    assert points >= subject.fewest


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_a_server_killed_while_a_watching_worker_mends_does_not_end_it(subject, server, workers, monkeypatch):
    monkeypatch.setattr(runner, "_MAINTAIN_EVERY", -1.0)
    shutdown = Shutdown(grace=0)

    def stop_when_done(run, outcome):
        if outcome is Outcome.DONE:
            shutdown.asked.set()

    watcher = Reconciler([subject.model], shutdown, threads=1, on_outcome=stop_when_done)
    watcher.prepare()
    mend, started = subject.model.maintain, []

    def maintain(using: str) -> list[str]:
        if not started:
            started.append(subject.start())
            server.restart_after_kill()
        return mend(using)

    monkeypatch.setattr(subject.model, "maintain", maintain)

    watcher.watch(poll=0.05)

    assert subject.check(started[0], workers.ledger) == 0
