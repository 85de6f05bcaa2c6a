"""No open run is invisible to every claimer, whatever its columns hold. C10 C11 C42"""

import itertools
from datetime import UTC, datetime

from django.core.management import call_command

from durable.clock import InSeconds
from durable.testing import expire_leases, run_until_settled
from tests.app.models import Errand, Told

from .marks import commits

pytestmark = commits

LONG_AGO = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
WHENS = (None, -60, 60)


def test_every_combination_of_columns_is_selected_once_at_least(effects):
    """C10: 288 combinations of receipts, status, lease, due time and error."""
    combinations = list(
        itertools.product(
            (None, LONG_AGO), (None, LONG_AGO), (None, LONG_AGO), ("pending", "running"), WHENS, WHENS, ("", "x")
        )
    )
    for one, two, three, status, lease, due, error in combinations:
        job = Told.objects.start(orders={"one": "", "two": "", "three": ""})
        Told.objects.filter(pk=job.pk).update(
            one_at=one, two_at=two, three_at=three, status=status, last_error=error, owner="somebody",
            lease_expires_at=None if lease is None else InSeconds(lease), due_at=None if due is None else InSeconds(due),
        )  # fmt: skip

    expire_leases(Told)
    run_until_settled(Told)

    assert Told.objects.filter(status="done").count() == len(combinations) == 288


def test_a_half_done_job_is_resumed_not_skipped_and_not_restarted(effects):
    """C11: any unfinished job qualifies, and a receipt stays as it was, to the microsecond."""
    job = Errand.objects.start()
    Errand.objects.filter(pk=job.pk).update(one_at=LONG_AGO)

    call_command("reconcile", verbosity=0)

    job.refresh_from_db()
    assert effects(job) == ["two", "three", "four", "five"]
    assert job.one_at == LONG_AGO
    assert job.two_at <= job.three_at <= job.four_at <= job.five_at


def test_a_job_whose_receipts_are_all_there_is_settled(effects):
    job = Told.objects.start()
    Told.objects.filter(pk=job.pk).update(one_at=LONG_AGO, two_at=LONG_AGO, three_at=LONG_AGO)

    done = job.run()

    assert done is True
    assert effects(job) == []


def test_a_receipt_in_the_middle_is_enough_to_leave_that_step_out(effects):
    job = Errand.objects.start()
    Errand.objects.filter(pk=job.pk).update(three_at=LONG_AGO)

    job.run()

    assert effects(job) == ["one", "two", "four", "five"]
