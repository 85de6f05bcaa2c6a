"""Effect and receipt come together or not at all."""

from __future__ import annotations

import pytest

from durable import Refused, Wait

from .far_side import FAR_SIDE
from .sights import look
from .subjects import Jobs

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

JOBS = Jobs()


@pytest.mark.parametrize("step", ["draw", "close"])
@pytest.mark.parametrize(
    "error", [RuntimeError("down"), Refused("no"), Wait(5)], ids=lambda error: type(error).__name__
)
def test_a_database_step_that_does_not_end_well_leaves_neither_effect_nor_receipt(step, error):
    with JOBS.deployed((step,)):
        run = JOBS.make()
        FAR_SIDE.script(run.pk, step, error)

        assert not run.run()

    sight = look(JOBS, run.pk)
    assert sight.traces == ()
    assert sight.receipts[step].at is None
