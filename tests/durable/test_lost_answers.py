"""A COMMIT whose answer is lost: the receipt in the row says whether it happened. S1"""

import pytest
from django.db import OperationalError, connections

from tests.app.models import Posting, Told

from .marks import commits

pytestmark = [commits, pytest.mark.postgres]


@pytest.fixture
def wire(monkeypatch):
    """Break the connection at the n-th COMMIT of this thread, just before it or just after it."""
    connection = connections["default"]
    real, state = connection.commit, {"at": 0, "when": "", "seen": 0}

    def commit():
        state["seen"] += 1
        breaks = state["seen"] == state["at"]
        if not breaks or state["when"] == "after":
            real()
        if breaks:
            connection.connection.close()
            raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(connection, "commit", commit)
    yield state
    connection.close()


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_effect_is_there_once_whatever_became_of_the_answer(wire, effects, when, number):
    job = Told.objects.start()
    wire.update(at=number, when=when)

    done = job.run()

    assert done is True
    assert (job.status, job.fence, job.failures) == ("done", 1, [])
    assert effects(job) == ["one", "three"]


@pytest.mark.parametrize("number", range(1, 6))
@pytest.mark.parametrize("when", ["before", "after"])
def test_no_external_call_is_repeated_for_a_lost_answer(wire, effects, tmp_path, when, number):
    calls = tmp_path / "calls"
    job = Posting.objects.start(calls=str(calls))
    wire.update(at=number, when=when)

    done = job.run()

    assert done is True
    assert [line.split()[1] for line in calls.read_text().splitlines()] == ["reserve", "charge", "sync", "mail"]
    assert effects(job) == ["charged answer to charge", "noted answer to charge", "synced"]
