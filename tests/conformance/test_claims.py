"""What a claim takes: what is due, oldest first, no more than asked, each run once; and what a receipt does to the lease."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, connections, transaction
from django.db.models.functions import Now

from durable.clock import InSeconds
from durable.contract import Taking, claim, transition

from .far_side import FAR_SIDE, Paused
from .models import Chore
from .sights import look
from .subjects import SUBJECTS, Jobs, Subject
from .verbs import advance_until_paused, take

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.django_db(transaction=True),
    pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name),
]


def _take(subject: Subject, limit: int, **taking) -> list:
    model = subject.model
    taken = claim(
        model,
        using="default",
        owner="worker",
        lease=60,
        limit=limit,
        taking=Taking(also=model.can_carry_out(), **taking),
    )
    return [run.pk for run, _ in taken]


def _due(subject: Subject, *seconds: float) -> list:
    """Make runs that are due so many seconds from now."""
    pks = []
    for due in seconds:
        run = subject.make()
        subject.model._base_manager.filter(pk=run.pk).update(due_at=InSeconds(due))
        pks.append(run.pk)
    return pks


def test_the_oldest_are_taken_and_no_more_than_asked(subject: Subject):
    newest, oldest, middle = _due(subject, -1, -30, -10)

    assert _take(subject, 2) == [oldest, middle]
    assert _take(subject, 2) == [newest]
    assert _take(subject, 2) == []


def test_what_is_not_due_is_left_unless_it_is_asked_for(subject: Subject):
    (later,) = _due(subject, 3600)

    assert _take(subject, 5) == []
    assert _take(subject, 5, ahead=True) == [later]


def test_a_settled_run_is_never_taken(subject: Subject):
    (pk,) = _due(subject, -1)
    rows = subject.model._base_manager.filter(pk=pk)
    rows.update(status=subject.model.MACHINE.done, settled_at=Now())

    assert _take(subject, 5) == []
    assert _take(subject, 5, ahead=True) == []
    assert _take(subject, 5, pk=pk) == []


def test_a_run_that_somebody_is_claiming_is_passed_over_without_waiting(subject: Subject):
    first, second = _due(subject, -20, -10)
    found: list = []

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {subject.model._meta.db_table} WHERE id = %s FOR UPDATE", [first])
        other = threading.Thread(target=lambda: (found.extend(_take(subject, 2)), connections.close_all()))
        other.start()
        other.join(timeout=10)
        waited = other.is_alive()
    other.join()

    assert not waited
    assert found == [second]


def test_an_arrow_the_machine_does_not_have_is_refused(subject: Subject):
    (pk,) = _due(subject, -1)
    machine = subject.model.MACHINE

    with pytest.raises(ValueError, match="no arrow"):
        transition(subject.model._base_manager.filter(pk=pk), machine.waiting, machine.done)


def test_a_receipt_renews_the_lease(subject: Subject):
    jobs = Jobs()
    run = jobs.make()
    claimed, right = take(jobs, run.pk, "worker")
    Chore.objects.filter(pk=run.pk).update(lease_expires_at=InSeconds(-1))
    FAR_SIDE.script(run.pk, "call", Paused())

    advance_until_paused(claimed, right)

    assert look(jobs, run.pk).lease == "held"
