"""Two paths on one run never deadlock; who must wait really waits, and who must not wait never does."""

from __future__ import annotations

import logging

import pytest

from .exploring import explore
from .programs import beat, maintenance, out_of_sight, staff, worker
from .stage import Stage
from .subjects import SUBJECTS, Subject

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

#: Two paths; and whether somebody waits for a row lock in some interleaving, as seen in pg_stat_activity.
PAIRS = {
    "claim, claim": (lambda: [worker("A"), worker("B")], False),
    "heartbeat, stamp": (lambda: [worker("A"), beat("A")], False),
    "stamp, cancel": (lambda: [worker("A"), staff("cancel")], True),
    "cancel, cancel": (lambda: [staff("cancel"), staff("cancel")], True),
    "retry, claim": (lambda: [staff("retry"), worker("A")], False),
    "cancel, retry": (lambda: [staff("cancel"), staff("retry")], True),
    "maintenance, claim": (lambda: [maintenance(), worker("A")], True),
}


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@pytest.mark.parametrize("pair", PAIRS)
def test_two_paths_never_deadlock_and_only_who_must_wait_waits(subject: Subject, pair: str, caplog):
    caplog.set_level(logging.CRITICAL, logger="durable")
    parts, waits = PAIRS[pair]
    waits = waits and (subject.cancels or "cancel" not in pair)
    # An owner of a pass or a message holds the row in no transaction: each of its writes is one statement.
    waits = waits and subject.name not in ("pass", "message")
    machine = subject.model.MACHINE
    # A retry that moves only what is settled finds nothing of a run that waits, and so nothing to wait for.
    waits = waits and (pair != "cancel, retry" or (machine.waiting, machine.waiting) in machine.arrows)
    stage = Stage(subject, hands=2)

    def make():
        run = subject.make()
        if pair.startswith("maintenance"):
            out_of_sight(run, ())
        return run

    try:
        with subject.deployed(subject.stories[0]):
            found = explore(stage, parts, make)
    finally:
        stage.close()

    assert found.complete
    assert (found.waits > 0) == waits, str(found)
