"""A COMMIT that was believed lost and arrives later after all: the receipt is found, the effect is there once."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import OperationalError, connection, connections

from durable.attempt import Outcome, attempt

from .oracle import check_state
from .sights import look
from .subjects import Jobs, Plans, Subject
from .verbs import answer_lost, take

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

JOBS, PLANS = Jobs(), Plans()


ARRIVES_LATE = [
    (JOBS, ("draw", "close")), (JOBS, ("tell", "close")), (JOBS, ("close",)), (PLANS, ("draw", "close")), (PLANS, ("close",)),
]  # fmt: skip
LOST = [
    (JOBS, ("draw", "close")), (JOBS, ("call", "close")), (JOBS, ("close",)), (PLANS, ("draw", "close")),
    (PLANS, ("ring", "close")), (PLANS, ("close",)),
]  # fmt: skip


def named(part) -> str:
    return "+".join(part) if isinstance(part, tuple) else part.name


@pytest.mark.parametrize(("subject", "story"), ARRIVES_LATE, ids=named)
def test_a_commit_that_arrives_while_the_step_is_tried_again_leaves_one_effect(subject: Subject, story, monkeypatch):
    with subject.deployed(story):
        run = subject.make()
        claimed, right = take(subject, run.pk, "worker")
        sent_off: list[threading.Thread] = []

        def commit() -> None:
            del connection.commit
            raw, connection.connection = connection.connection, None
            sent_off.append(threading.Thread(target=_commit_when_somebody_waits, args=(raw,)))
            sent_off[0].start()
            raise OperationalError("server closed the connection unexpectedly")

        connection.commit = commit
        outcome = attempt(claimed, right)

    sent_off[0].join()
    sight = look(subject, run.pk)
    check_state(subject, sight)
    assert outcome is Outcome.DONE
    assert len(sight.traces) == len(story)


@pytest.mark.parametrize(("subject", "story"), LOST, ids=named)
def test_a_commit_whose_answer_was_lost_is_not_done_again(subject: Subject, story):
    with subject.deployed(story):
        run = subject.make()
        claimed, right = take(subject, run.pk, "worker")

        with answer_lost(1):
            outcome = attempt(claimed, right)

    sight = look(subject, run.pk)
    check_state(subject, sight)
    assert outcome is Outcome.DONE
    assert sight.row["failures"] == []


def _commit_when_somebody_waits(raw) -> None:
    """The server is still working on the COMMIT; it is done when the next try of the step waits for its row lock."""
    observer = connections.create_connection("default")
    deadline = time.monotonic() + 20
    try:
        while time.monotonic() < deadline:
            with observer.cursor() as cursor:
                cursor.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))",
                    [raw.info.backend_pid],
                )
                if cursor.fetchone()[0]:
                    break
            time.sleep(0.005)
        raw.commit()
    finally:
        raw.close()
        observer.close()
