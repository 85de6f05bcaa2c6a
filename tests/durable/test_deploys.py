"""Code changes while runs are half done: they go on by the names of their steps. C33 C35"""

import pytest
from django.db import connection, models
from django.test.utils import isolate_apps

from durable import clock, step
from durable.models import Job
from durable.runner import Reconciler
from durable.shutdown import Shutdown
from durable.testing import run_until_settled
from tests.app.models import Errand, Relay

from .marks import commits

pytestmark = commits


def started_by_older_code(*names: str, done: tuple[str, ...] = ()) -> Relay:
    """Return a run as code with those steps left it."""
    job = Relay.objects.start()
    receipts = dict.fromkeys(done, clock.read(connection))
    Relay.objects.filter(pk=job.pk).update(step_names=",".join(sorted(names)), **receipts)
    job.refresh_from_db()
    return job


def test_a_step_that_was_inserted_runs_in_its_place(effects):
    """C33: progress is stored by name, not by position."""
    job = started_by_older_code("a", "b", "c", done=("a_at",))

    run_until_settled(Relay)

    job.refresh_from_db()
    assert job.status == "done"
    assert effects(job) == ["a2", "b", "c"]


def test_run_carries_on_what_older_code_started(effects):
    job = started_by_older_code("a", "b", "c", done=("a_at", "b_at"))

    done = job.run()

    assert done is True
    assert effects(job) == ["a2", "c"]


def test_code_that_lacks_a_step_leaves_the_run_to_code_that_has_it(effects):
    """A worker of last week's code must not settle a run of today's."""
    job = started_by_older_code("a", "a2", "b", "c", "from_the_future")

    with pytest.raises(AssertionError, match="still open"):
        run_until_settled(Relay, passes=2)

    job.refresh_from_db()
    assert (job.status, job.fence, effects(job)) == ("pending", 0, [])
    assert job.run() is False


def test_the_operator_is_told_which_step_is_unknown_and_what_to_do():
    started_by_older_code("a", "from_the_future")
    reconciler = Reconciler([Relay], Shutdown(grace=0))

    reconciler.prepare()

    [problem] = reconciler.report.problems
    assert "app.Relay: 1 open run(s)" in problem
    assert "from_the_future" in problem
    assert "Relay.retired_steps" in problem
    assert reconciler.report.failed


def test_a_step_that_was_retired_on_purpose_is_forgotten(effects):
    job = started_by_older_code("old", "a", "b", "c", done=("a_at",))

    run_until_settled(Relay)

    job.refresh_from_db()
    assert job.status == "done"
    assert effects(job) == ["a2", "b", "c"]


def test_reordered_steps_change_nothing():
    assert Relay.names_of_steps() == "a,a2,b,c"
    assert list(Relay.steps()) == ["a", "a2", "b", "c"]


def test_a_renamed_step_keeps_its_receipts_by_its_column():
    assert Relay.steps()["c"].column == "c_finished"
    assert "c_finished" in Relay.contract_columns()


@pytest.fixture
def retired():
    """A kind whose class no installed app has: its table is there."""
    with isolate_apps("tests.app"):

        class RetiredKind(Job):
            ran = models.BooleanField(default=False)

            @step
            def only(self):
                return {"ran": True}

            class Meta(Job.Meta):
                app_label = "app"
                db_table = "retired_kind"

    with connection.schema_editor() as editor:
        editor.create_model(RetiredKind)
    yield RetiredKind
    with connection.schema_editor() as editor:
        editor.delete_model(RetiredKind)


def test_a_run_whose_code_is_gone_is_kept_reported_and_done_when_it_comes_back(retired, capsys):
    """C35"""
    from django.core.management import call_command

    odd = retired.objects.start()
    known = [Errand.objects.start(), Errand.objects.start()]

    with pytest.raises(SystemExit) as ended:
        call_command("reconcile")
    said = capsys.readouterr().out
    odd.refresh_from_db()
    left = (odd.status, odd.lease_expires_at, odd.fence)
    error = odd.last_error
    run_until_settled(retired)

    assert ended.value.code == 1
    assert "retired_kind: 1 open run(s)" in said
    assert Errand.objects.filter(pk__in=[job.pk for job in known], status="done").count() == 2
    assert left == ("pending", None, 0)
    assert "retired_kind" in error
    odd.refresh_from_db()
    assert (odd.status, odd.ran, odd.last_error) == ("done", True, "")
