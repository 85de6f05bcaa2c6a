"""Old and new code side by side on one run: nobody settles a run without the steps it now has."""

from __future__ import annotations

import pytest

from durable.attempt import Outcome, attempt

from .models import Chore
from .oracle import check_state
from .sights import look
from .subjects import Jobs
from .verbs import lapse, take

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

JOBS = Jobs()


def test_an_owner_that_slept_through_a_deploy_cannot_settle_the_run_without_the_new_step():
    with JOBS.deployed(("draw", "call")):
        run = JOBS.make()
        late, right = take(JOBS, run.pk, "code of last week")
    lapse(JOBS, run.pk)
    with JOBS.deployed(("draw", "call", "close")):
        Chore.maintain("default")

    with JOBS.deployed(("draw", "call")):
        outcome = attempt(late, right)

    check_state(JOBS, look(JOBS, run.pk))
    assert outcome is Outcome.LOST


def test_a_deploy_leaves_a_run_alone_that_old_code_still_holds():
    with JOBS.deployed(("draw", "call")):
        run = JOBS.make()
        held, right = take(JOBS, run.pk, "code of last week")
    with JOBS.deployed(("draw", "call", "close")):
        Chore.maintain("default")

    with JOBS.deployed(("draw", "call")):
        outcome = attempt(held, right)

    check_state(JOBS, look(JOBS, run.pk))
    assert outcome is Outcome.DONE


def test_a_waiting_run_gets_the_steps_of_the_new_code_and_does_them_all():
    with JOBS.deployed(("draw", "call")):
        run = JOBS.make()

    with JOBS.deployed(("draw", "call", "close")):
        assert run.run()

    assert look(JOBS, run.pk).traces == ("close", "draw")
