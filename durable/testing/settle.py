"""Time and completion in tests: move the lease, not the clock; carry runs on until they settle."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Now

from durable import kinds
from durable.clock import InSeconds
from durable.runner import Reconciler, Report
from durable.shutdown import Shutdown

__all__ = ["expire_leases", "run_until_settled"]

_MOST_PASSES = 100


def expire_leases(*subjects: Any) -> int:
    """
    Let the leases of runs lapse one second ago, by the database's clock. Return how many lapsed.

    Args:
        subjects: runs, or run models; none: every run of every kind.
    """
    lapsed = 0
    for subject in subjects or kinds.registered():
        model = subject if isinstance(subject, type) else type(subject)
        rows = kinds.rows_of(model)
        if not isinstance(subject, type):
            rows = rows.filter(pk=subject.pk)
        lapsed += rows.filter(lease_expires_at__isnull=False).update(lease_expires_at=InSeconds(-1))
    return lapsed


def run_until_settled(*models: type[Any], passes: int = _MOST_PASSES) -> Report:
    """
    Reconcile in this thread, pass after pass, as boots would, until no run of those kinds is open.

    Args:
        models: the kinds; none: all of them.
        passes: give up after so many.

    Raises:
        AssertionError: runs are still open after that many passes, or are held by a live owner; it says which and why.
    """
    chosen = list(models) or kinds.registered()
    total = Report()
    for _ in range(passes):
        for model in chosen:
            if model.PATIENT:  # a boot pass leaves it alone until it is due, and a test does not wait
                kinds.rows_of(model).open().filter(lease_expires_at__isnull=True).update(due_at=Now())
        reconciler = Reconciler(chosen, Shutdown(grace=0), threads=1)
        reconciler.prepare()
        report = reconciler.run_pass()
        total.outcomes += report.outcomes
        total.taken_over += report.taken_over
        total.problems = report.problems
        if not any(kinds.rows_of(model).open().exists() for model in chosen):
            return total
        if not report.outcomes and not _anything_claimable(chosen):
            break
    left = [f"{run}: {run.explain()}" for model in chosen for run in kinds.rows_of(model).open()[:5]]
    message = f"still open: {'; '.join(left)}"
    raise AssertionError(message)


def _anything_claimable(models: list[type[Any]]) -> bool:
    return any(kinds.rows_of(model).open().exclude(lease_expires_at__gt=Now()).exists() for model in models)
