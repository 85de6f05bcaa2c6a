"""A started run rings, and a watching worker looks at once; nothing rests on it."""

import signal
import time

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import override_settings

from tests.app.models import Told

from .actors import Forked, until
from .marks import commits

pytestmark = [commits, pytest.mark.postgres]


def somebody_listens() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%%' AND datname = current_database()"
        )
        return cursor.fetchone()[0] > 0


@pytest.mark.parametrize("start", ["alone", "in a transaction"])
def test_a_watcher_with_a_long_poll_takes_a_started_run_at_once(start):
    with override_settings(DURABLE={"NOTIFY": True, "POLL": 60, "THREADS": 2}):
        child = Forked(lambda: call_command("reconcile", "--watch"))
        until(somebody_listens)
        time.sleep(0.3)  # it listens before its first look; let that look pass, or the ring is not what is seen
        if start == "alone":
            job = Told.objects.start()
        else:
            with transaction.atomic():
                job = Told.objects.start()

        until(lambda: Told.objects.get(pk=job.pk).status == "done", within=10)
        child.signal(signal.SIGTERM)

    assert child.wait() == 0, child.said


def test_a_start_that_rolls_back_does_not_ring():
    with override_settings(DURABLE={"NOTIFY": True}), connection.execute_wrapper(refuse_notify), transaction.atomic():
        Told.objects.start()
        transaction.set_rollback(True)

    assert not Told.objects.exists()


def refuse_notify(execute, sql, params, many, context):
    assert "NOTIFY" not in sql
    return execute(sql, params, many, context)


def test_nothing_is_sent_unless_the_setting_is_on():
    with connection.execute_wrapper(refuse_notify):
        Told.objects.start()

    assert Told.objects.count() == 1
