"""SIGSTOP inside a step, another owner finishes, SIGCONT: the late process writes nothing. S2"""

import os
import signal

import pytest

from durable.testing import expire_leases, run_until_settled
from tests.app.models import Told

from .actors import Forked, until
from .marks import commits

pytestmark = commits


def is_stopped(pid: int) -> bool:
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def test_an_owner_frozen_in_an_external_step_writes_nothing_when_it_thaws(tmp_path, effects):
    began, go = tmp_path / "began", tmp_path / "go"
    job = Told.objects.start(orders={"two": f"line {tmp_path}/calls call; touch {began}; until {go}"})
    child = Forked(job.run)
    until(began.exists)
    child.signal(signal.SIGSTOP)
    until(lambda: is_stopped(child.pid))

    go.touch()
    expire_leases(job)
    run_until_settled(Told)
    after = Told.objects.filter(pk=job.pk).values().get()
    child.signal(signal.SIGCONT)
    ended = child.wait()

    assert ended == 0, child.said
    assert "Traceback" not in child.said
    assert Told.objects.filter(pk=job.pk).values().get() == after
    assert (after["status"], after["fence"], after["step_log"]["two"]["fence"]) == ("done", 2, 2)
    assert (tmp_path / "calls").read_text() == "call\ncall\n"
    assert effects(job) == ["one", "three"]


@pytest.mark.postgres
def test_an_owner_frozen_in_a_database_step_keeps_its_row_and_finishes_it(tmp_path, effects):
    """Its receipt holds the row, so nobody can take the run: the effect is there once, whoever waited."""
    began, go = tmp_path / "began", tmp_path / "go"
    job = Told.objects.start(orders={"one": f"touch {began}; until {go}"})
    child = Forked(job.run)
    until(began.exists)
    child.signal(signal.SIGSTOP)
    until(lambda: is_stopped(child.pid))

    with pytest.raises(AssertionError, match="still open"):
        run_until_settled(Told, passes=1)
    go.touch()
    child.signal(signal.SIGCONT)
    ended = child.wait()

    assert ended == 0, child.said
    job.refresh_from_db()
    assert (job.status, job.fence) == ("done", 1)
    assert effects(job) == ["one", "three"]


def test_the_child_really_is_another_process(tmp_path):
    child = Forked(lambda: (tmp_path / "pid").write_text(str(os.getpid())))

    assert child.wait() == 0
    assert (tmp_path / "pid").read_text() == str(child.pid) != str(os.getpid())
