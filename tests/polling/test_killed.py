"""
The worker is killed with SIGKILL at every statement (in the usual suite: at one in three), and on both sides of every
call; the far side counts one start.

The far side keeps what it was asked in memory that parent and child share. Where the crash leaves a doubt that nothing can
end, a person looks at the far side and says what is there; that is counted too.
"""

import mmap
import os
import signal

import pytest
from django.db import connection

from durable import polling
from durable.models import Operation
from durable.testing import run_until_settled
from durable.testing.crash import in_child

from .conftest import make_due

pytestmark = pytest.mark.django_db(transaction=True)

NEVER = 255


class Shared:
    """A far side across a fork: the first bytes are counts and orders, the rest the keys it has accepted."""

    BEGUN, LOOKS, CALLS, KILL = range(4)

    def __init__(self):
        self.memory = mmap.mmap(-1, 64)
        self.reset()

    def reset(self):
        self.memory[:] = bytes(64)
        self.memory[self.KILL] = NEVER

    def __getitem__(self, slot):
        return self.memory[slot]

    def called(self, slot):
        """One call: killed before it arrives, or after the far side has acted and before its answer arrives."""
        for side in (0, 1):
            if self.memory[self.KILL] == self.memory[self.CALLS] * 2 + side:
                self.memory[self.KILL] = NEVER
                os.kill(os.getpid(), signal.SIGKILL)
            if side == 0:
                self.memory[slot] += 1
        self.memory[self.CALLS] += 1


FAR = Shared()


class Blind(polling.ExternalCall):
    """No key, no way to look it up."""

    def begin(self, op):
        FAR.called(FAR.BEGUN)
        return polling.Accepted("h-1", "scheduling")

    def poll(self, op):
        FAR.called(FAR.LOOKS)
        return polling.Succeeded(status="finished") if FAR[FAR.LOOKS] >= 2 else polling.Pending("running")


class Seeing(Blind):
    """No key, but it can be looked up."""

    def find(self, op):
        return "h-1" if FAR[FAR.BEGUN] else None


class Keyed(Blind):
    """The far side takes our key: of two calls under it one begins something."""

    def begin(self, op):
        if not FAR[FAR.BEGUN]:
            FAR.called(FAR.BEGUN)
        return polling.Accepted("h-1", "scheduling")


@pytest.fixture(params=["blind", "seeing", "keyed"])
def shape(request):
    base, options = {
        "blind": (Blind, {}), "seeing": (Seeing, {"find_for": 0}), "keyed": (Keyed, {"keyed": True}),
    }[request.param]  # fmt: skip
    polling.register("killed", every=1, give_up_after=3600, **options)(base)
    FAR.reset()
    yield request.param
    polling.forget("killed")


def live(pk):
    """What a worker does with it, from the queue to its end."""
    for _ in range(6):
        make_due()
        if Operation.objects.get(pk=pk).run():
            return


def finish(operation, tally):
    """What is left is finished by boot passes, and where nobody knows, by a person who looks at the far side."""
    run_until_settled(Operation)
    left = Operation.objects.get(pk=operation.pk)
    if left.status == "unknown":
        tally["a person"] += 1
        assert left.it_happened("h-1", by="ada") if FAR[FAR.BEGUN] else left.it_did_not_happen(by="ada")
        run_until_settled(Operation)
        left = Operation.objects.get(pk=operation.pk)
    assert left.status == "succeeded", left.explain()
    assert left.handle == "h-1"
    return left


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.long), 3])
def test_killed_at_any_statement_it_was_begun_exactly_once(shape, capsys, every):
    tally, points, number = {"a person": 0}, [], 0
    while True:
        FAR.reset()
        operation = polling.start("killed", {}, key=f"n{number}")

        crash = in_child(lambda pk=operation.pk: live(pk), crash_at=number * every)
        finish(operation, tally)

        assert FAR[FAR.BEGUN] == 1, f"{crash.boundary}: {FAR[FAR.BEGUN]} starts"
        if not crash.killed:
            break
        points.append(crash.boundary)
        number += 1
    with capsys.disabled():
        print(
            f"\n{shape}: killed at {len(points)} boundaries ({connection.vendor}), {len(points) + 1} lives, one start in each; "
            f"{tally['a person']} ended by a person"
        )
    assert len(points) > 20 // every
    assert shape == "blind" or tally["a person"] <= len(points) // 3
    assert shape != "keyed" or tally["a person"] == 0


def test_killed_on_both_sides_of_every_call_it_was_begun_exactly_once(shape, capsys):
    tally, sides = {"a person": 0}, 0
    for sides in range(20):
        FAR.reset()
        operation = polling.start("killed", {}, key=f"n{sides}")
        FAR.memory[FAR.KILL] = sides

        crash = in_child(lambda pk=operation.pk: live(pk))
        FAR.memory[FAR.KILL] = NEVER
        finish(operation, tally)

        assert FAR[FAR.BEGUN] == 1
        if not crash.killed:
            break
    with capsys.disabled():
        print(f"\n{shape}: killed on {sides} sides of calls ({connection.vendor}), one start each; {tally} by hand")
    assert sides == 6  # a begin and two looks
