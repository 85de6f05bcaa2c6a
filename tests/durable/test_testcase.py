"""Jobs in a project's own tests: job.run() and call_command("reconcile") work inside django.test.TestCase."""

import io
import threading

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import TestCase, override_settings

from durable import InsideTransaction
from durable.testing import expire_leases, run_until_settled
from tests.app.models import Account, Closing, Effect, Errand, Told
from tests.app.orders import HOOKS


class InsideATestCase(TestCase):
    def test_a_job_runs(self):
        job = Errand.objects.start()

        done = job.run()

        assert done is True
        assert Effect.objects.filter(run=job.pk).count() == 5

    def test_start_and_run_in_one(self):
        assert Told.objects.run().status == "done"

    def test_reconcile_carries_on_and_reports(self):
        job, out = Errand.objects.start(), io.StringIO()

        call_command("reconcile", stdout=out)

        job.refresh_from_db()
        assert job.status == "done"
        assert out.getvalue() == "Reconciled: 1 done.\n"

    def test_reconcile_says_what_failed(self):
        Told.objects.start(orders={"one": "fail down"})
        out = io.StringIO()

        with pytest.raises(SystemExit) as ended:
            call_command("reconcile", stdout=out)

        assert ended.value.code == 1
        assert "ValueError: down" in out.getvalue()

    def test_a_failed_step_is_taken_back_and_kept(self):
        HOOKS["one"] = lambda job: Account.objects.create(name="x" * 51) if connection.vendor == "postgresql" else 1 / 0
        job = Told.objects.start()

        done = job.run()

        assert done is False
        assert len(job.failures) == 1
        assert Effect.objects.filter(run=job.pk).count() == 0

    def test_a_lapsed_lease_is_taken(self):
        job = Told.objects.start()
        Told.objects.filter(pk=job.pk).update(status="running", owner="elsewhere/7", fence=1)

        expire_leases(job)
        run_until_settled(Told)

        job.refresh_from_db()
        assert (job.status, job.fence) == ("done", 2)

    def test_keys_and_places_in_flight_hold(self):
        account = Account.objects.create(name="ada")
        first = Closing.objects.start(key="k", account=account)

        assert Closing.objects.start(key="k", account=account).pk == first.pk
        assert first.cancel() is True
        assert first.retry() is True

    def test_a_transaction_of_the_tests_own_is_still_one(self):
        job = Errand.objects.start()

        with transaction.atomic(), pytest.raises(InsideTransaction):
            job.run()

    @override_settings(DURABLE={"LEASE": 0.3})
    def test_a_step_that_takes_longer_than_a_third_of_the_lease_is_not_believed_lost(self):
        """The heartbeat's own connection cannot see what the test case has not committed."""
        HOOKS["two"] = lambda job: threading.Event().wait(0.5) or None
        job = Told.objects.start()

        done = job.run()

        assert done is True
        assert job.failures == []
