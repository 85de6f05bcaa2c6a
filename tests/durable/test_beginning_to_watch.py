"""A worker that is cut off from its database while it begins."""

import contextlib
import io

import psycopg
import pytest
from django.db import connection

from durable import kinds, runner, session
from tests.app.models import Told

from .actors import url_of
from .marks import commits

pytestmark = commits


@pytest.mark.postgres
@pytest.mark.parametrize(("module", "name"), [(runner, "take_over"), (kinds, "orphans")])
def test_a_watcher_whose_connection_is_cut_as_it_begins_goes_on(module, name, monkeypatch):
    """What a failover, or an administrator, does to a worker in its first second."""
    goes_on, cut = getattr(module, name), []

    def cut_once(*given):
        if not cut:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                cut.append(cursor.fetchone()[0])
            with psycopg.connect(url_of(connection.settings_dict["NAME"]), autocommit=True) as bystander:
                bystander.execute("SELECT pg_terminate_backend(%s)", cut)
        return goes_on(*given)

    monkeypatch.setattr(module, name, cut_once)
    monkeypatch.setattr(session.waking, "listening", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(runner.Reconciler, "watch", lambda self, poll: self.run_pass())
    job = Told.objects.start()

    result = session.run_session(
        kinds.registered(), watch=True, threads=1, limit=None, wait=0, due_only=False, out=io.StringIO(), quiet=True
    )

    job.refresh_from_db()
    assert cut
    assert job.status == "done", result.as_text()
