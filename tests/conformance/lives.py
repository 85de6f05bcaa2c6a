"""
Lives: long random histories of a few runs on the real database, judged by the same oracle after every event.

One thread plays everybody. An owner that pauses keeps its run and its claim in hand, as a thread would that sleeps in the
middle of a step; what it does when it wakes up is what a late owner does.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from durable import Refused, Wait
from durable.attempt import Outcome, attempt
from durable.contract import Claim, Taking, claim
from durable.errors import LostLease
from durable.runner import Reconciler
from durable.shutdown import Shutdown

from .far_side import FAR_SIDE, Paused
from .oracle import Doer, check_end, check_event, check_state
from .sights import Sight, look
from .subjects import SUBJECTS, Story, Subject, forget_passes
from .verbs import LEASE, advance_until_paused, answer_lost, carry_on, free_early, lapse

__all__ = ["Lives"]


ENDS = {
    "goes well": lambda: None,
    "fails": lambda: RuntimeError("the far side is down"),
    "waits": lambda: Wait(30, "not yet"),
    "is refused": lambda: Refused("no such account"),
    "ends the process": SystemExit,
}


@dataclass(slots=True, eq=False)
class Owner:
    """Somebody who claimed a run, with the code that was deployed then."""

    run: Any
    right: Claim
    story: Story
    doer: Doer
    used: bool = False  # its attempt has ended: the claim may write nothing any more


class Lives(RuleBasedStateMachine):
    """What can happen to runs."""

    subject: Subject = SUBJECTS[0]
    runs = Bundle("runs")
    owners = Bundle("owners")

    def __init__(self) -> None:
        super().__init__()
        self.pks: list[Any] = []
        self.keys: dict[str, Any] = {}
        self.story = self.subject.deploys[0]
        self.used = False  # somebody has ended an attempt

    # Beginnings --------------------------------------------------------------------------------------------------

    @initialize(target=runs)
    def begin(self) -> Any:
        return self._start()

    @precondition(lambda self: len(self.pks) < 3)
    @rule(target=runs)
    def begin_another(self) -> Any:
        return self._start()

    @rule(pk=runs)
    def begin_again_under_the_same_key(self, pk: Any) -> None:
        key = next(key for key, known in self.keys.items() if known == pk)
        with self._event(pk, Doer("starter", fence=-1)):
            assert self.subject.start(key).pk == pk

    def _start(self) -> Any:
        key = str(uuid.uuid4())
        with self.subject.deployed(self.story):
            pk = self.subject.start(key).pk
        self.pks.append(pk)
        self.keys[key] = pk
        return pk

    # Workers -----------------------------------------------------------------------------------------------------

    @rule(target=owners, pk=runs)
    def a_worker_claims_that_run(self, pk: Any) -> Any:
        return self._claim(pk, Taking(pk=pk, also=self._can()))

    @rule(target=owners, ahead=st.booleans())
    def a_worker_claims_whatever_is_first(self, ahead: bool) -> Any:
        return self._claim(None, Taking(ahead=ahead, also=self._can()))

    @precondition(lambda self: self.used)
    @rule(owner=owners, verb=st.sampled_from(["write", "release", "settle"]))
    def a_used_claim_is_used_again(self, owner: Owner, verb: str) -> None:
        if not owner.used:
            return
        before = self._look(owner.run.pk)
        verbs = {
            "write": lambda: owner.right.write({"last_error": "late"}),
            "release": lambda: owner.right.release(last_error="late"),
            "settle": lambda: owner.right.settle(owner.right.machine.dead, last_error="late"),
        }
        with pytest.raises(LostLease):
            verbs[verb]()
        assert self._look(owner.run.pk).row == before.row

    @rule(owner=owners, steps=st.integers(0, 3), ending=st.sampled_from(sorted(ENDS)))
    def an_owner_goes_on(self, owner: Owner, steps: int, ending: str) -> None:
        self._script(owner, steps, ENDS[ending]())
        self._advance(owner)

    @rule(owner=owners, steps=st.integers(0, 3))
    def an_owner_goes_on_and_pauses(self, owner: Owner, steps: int) -> None:
        self._script(owner, steps, Paused())
        if owner.used:
            return
        try:
            with self._event(owner.run.pk, owner.doer), self.subject.deployed(owner.story):
                advance_until_paused(owner.run, owner.right)
        finally:
            self._leave(owner)

    @rule(owner=owners, commit=st.integers(1, 3))
    def an_owner_goes_on_and_an_answer_is_lost(self, owner: Owner, commit: int) -> None:
        with answer_lost(commit):
            self._advance(owner)

    @rule(owner=owners)
    def an_owner_is_asked_to_stop(self, owner: Owner) -> None:
        self._advance(owner, stop=True)

    @rule(owner=owners)
    def its_heart_beats(self, owner: Owner) -> None:
        with self._event(owner.run.pk, owner.doer):
            still = owner.right.renew()
            sight = look(self.subject, owner.run.pk)
            assert sight is not None
            assert still == (sight.fence == owner.right.fence and sight.status == owner.right.machine.claimed)
            assert not still or sight.lease == "held"

    @rule(owner=consumes(owners))
    def a_worker_is_killed(self, owner: Owner) -> None:
        """It is never heard of again."""

    # Time, staff, deploys ----------------------------------------------------------------------------------------

    @rule(pk=runs)
    def its_lease_lapses(self, pk: Any) -> None:
        with self._event(pk, Doer("time", clock=True)):
            lapse(self.subject, pk)

    @rule(owner=owners)
    def a_boot_pass_believes_it_dead(self, owner: Owner) -> None:
        with self._event(owner.run.pk, Doer("boot pass", clock=True)):
            free_early(self.subject, owner.right)

    @rule(pk=runs, verb=st.sampled_from(["cancel", "retry"]))
    def staff_presses_a_button(self, pk: Any, verb: str) -> None:
        with self._event(pk, Doer("staff", staff=True)) as before:
            moved = getattr(self.subject, verb)(self.subject.model._base_manager.get(pk=pk))
            machine = self.subject.model.MACHINE
            target = "canceled" if verb == "cancel" else machine.waiting
            able = {source for source, to in machine.arrows if to == target}
            assert moved == (before.status in able and self.subject.may(verb, before.row))

    @rule()
    def maintenance(self) -> None:
        with contextlib.ExitStack() as everywhere:
            for pk in self.pks:
                everywhere.enter_context(self._event(pk, Doer("maintenance", clock=True)))
            with self.subject.deployed(self.story):
                self.subject.model.maintain("default")

    @rule(number=st.integers(0, 3))
    def other_code_is_deployed(self, number: int) -> None:
        self.story = self.subject.deploys[number % len(self.subject.deploys)]

    @rule()
    def a_boot_pass(self) -> None:
        """The real one, with the code that is deployed."""
        with contextlib.ExitStack() as everywhere:
            for pk in self.pks:
                everywhere.enter_context(self._event(pk, Doer("boot pass", clock=True)))
            with self.subject.deployed(self.story):
                reconciler = Reconciler([self.subject.model], Shutdown(grace=0))
                reconciler.prepare()
                reconciler.run_pass()

    # Laws --------------------------------------------------------------------------------------------------------

    @invariant()
    def every_state_is_lawful(self) -> None:
        for pk in self.pks:
            check_state(self.subject, self._look(pk))

    def teardown(self) -> None:
        """Left alone, every run is settled by the next boot passes of code that knows all steps."""
        try:
            with self.subject.deployed(self.subject.deploys[-1]):
                for pk in self.pks:
                    check_end(self.subject, pk, lambda pk: carry_on(self.subject, pk, "the last boot pass") is not None)
        finally:
            self.subject.model._base_manager.filter(pk__in=self.pks).delete()
            for pk in self.pks:
                FAR_SIDE.forget(pk)
            forget_passes()

    # How ---------------------------------------------------------------------------------------------------------

    def _can(self) -> Any:
        with self.subject.deployed(self.story):
            return self.subject.model.can_carry_out()

    def _claim(self, pk: Any, taking: Taking) -> Any:
        before = {one: self._look(one) for one in self.pks}
        taken = claim(self.subject.model, using="default", owner="a worker", lease=LEASE, taking=taking)
        assert len(taken) <= 1
        owner = None
        for run, right in taken:
            assert pk is None or run.pk == pk
            owner = Owner(run, right, self.story, Doer("a worker", fence=right.fence))
        for one in self.pks:
            doer = owner.doer if owner and owner.run.pk == one else Doer("nobody", fence=-1)
            check_event(self.subject, before[one], self._look(one), doer)
        return owner if owner is not None else multiple()

    def _script(self, owner: Owner, steps: int, error: BaseException | None) -> None:
        if owner.used:
            return
        with self.subject.deployed(owner.story):
            todo = [receipt.step for receipt in owner.run.receipts() if receipt.at is None]
        if error is not None and steps < len(todo):
            FAR_SIDE.script(owner.run.pk, todo[steps], error)

    def _advance(self, owner: Owner, *, stop: bool = False) -> None:
        if owner.used:
            return
        outcome, owner.used, self.used = None, True, True
        with (
            self._event(owner.run.pk, owner.doer) as before,
            self.subject.deployed(owner.story),
            contextlib.suppress(SystemExit),
        ):
            outcome = attempt(owner.run, owner.right, should_stop=lambda: stop)
        self._leave(owner)
        after, machine = self._look(owner.run.pk), self.subject.model.MACHINE
        assert outcome is not Outcome.LOST or before.row == after.row, "S2: an owner that lost the run changed it"
        # Given up is dead, or what else the shape calls a run that no attempt can help: a refused message is failed.
        given_up = machine.terminal - {machine.done, "canceled"}
        waiting = {machine.waiting} | self.subject.parked
        expected = {
            Outcome.DONE: {machine.done, "canceled"}, Outcome.DEAD: given_up, Outcome.FAILED: waiting,
            Outcome.WAITING: waiting, Outcome.INTERRUPTED: waiting,
        }  # fmt: skip
        assert outcome not in expected or after.status in expected[outcome], f"{outcome}, but it is {after.status}"
        assert outcome is not Outcome.UNKNOWN

    def _leave(self, owner: Owner) -> None:
        """The owner may come back, and has then heard of nothing meanwhile."""
        FAR_SIDE.unscript(owner.run.pk)
        owner.right.lost_owner, owner.right.lost, owner.right.should_stop = None, False, bool

    @contextlib.contextmanager
    def _event(self, pk: Any, doer: Doer) -> Iterator[Sight]:
        before = self._look(pk)
        yield before
        check_event(self.subject, before, self._look(pk), doer)

    def _look(self, pk: Any) -> Sight:
        sight = look(self.subject, pk)
        assert sight is not None
        return sight
