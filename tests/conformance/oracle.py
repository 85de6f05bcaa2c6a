"""
The oracle: which step from one committed state to the next is lawful, whoever made it. Numbers as in the design, section 6.

It knows nothing of the code under test but the machine's statuses; it judges rows, traces and calls.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from durable.contract import Taking, claim
from durable.testing import expire_leases

from .sights import Sight, look
from .subjects import Subject

__all__ = ["Doer", "Unlawful", "check_end", "check_event", "check_state"]


class Unlawful(AssertionError):
    """Something happened that must not."""


@dataclass(slots=True)
class Doer:
    """Who makes a step: an owner has the fence of its claim; staff may send a settled run back."""

    name: str
    fence: int | None = None
    staff: bool = False
    clock: bool = False  # time that passes: it moves leases


def check_state(subject: Subject, sight: Sight) -> None:
    """Raise Unlawful unless this state may exist."""
    machine, status = subject.model.MACHINE, sight.status
    count = Counter(sight.traces)
    for step in subject.in_database & sight.receipts.keys():
        recorded = int(sight.receipts[step].at is not None)
        _law(count[step] == recorded, f"S1: {step} has {recorded} receipt(s) and happened {count[step]} time(s)")
    if status in machine.terminal:
        tidy = sight.lease == "none" and sight.due == "never" and sight.row["settled_at"] is not None
        _law(tidy, "S6: a settled run has no lease, is never due, and knows when it settled")
        if status == machine.done:
            missing = [step for step in subject.carries(sight.row) if sight.receipts[step].at is None]
            _law(not missing, f"S6: the run is done without a receipt of {missing}")
    else:
        _law(sight.row["settled_at"] is None, "S3: an open run that says it is settled is seen by nobody")
        _law(status == machine.claimed or sight.lease == "none", "S3: a waiting run with a lease is seen by nobody")
    for step in subject.outside & sight.receipts.keys():
        called = any(call.step == step for call in sight.calls)
        _law(called or sight.receipts[step].at is None, f"S7: {step} has a receipt and was never called")
    for step in {call.step for call in sight.calls}:
        calls = [call for call in sight.calls if call.step == step]
        _law(len({call.key for call in calls}) == 1, f"S7: {step} was called with different keys")
        _law(step in subject.outside, f"S7: {step} does not say that it may be repeated")
        _law(len({call.fence for call in calls}) == len(calls), f"S7: {step} was called twice under one claim")
        by = sight.receipts[step].fence if step in sight.receipts else None
        _law(by is None or all(call.fence <= by for call in calls), f"S7: {step} was repeated after its receipt")
        told = sum(one["what"] == "it did not happen" for one in sight.row.get("decisions", ()))
        _law(step not in subject.at_most_once or len(calls) <= 1 + told, f"S8: {step} was issued {len(calls)} times")


def check_event(subject: Subject, before: Sight, after: Sight, doer: Doer) -> None:
    """Raise Unlawful unless that doer may lead from one state to the other."""
    machine = subject.model.MACHINE
    _law(after.fence >= before.fence, "S2: the fence shrank")
    for step, seen in before.receipts.items():
        _law(seen.at is None or after.receipts[step] == seen, f"S1: the receipt of {step} was changed")
    if before.row == after.row:
        _law(before.traces == after.traces, "S1: an effect without a receipt")
        return
    if before.status in machine.terminal:
        lawful = doer.staff and (before.status, after.status) in machine.arrows
        _law(lawful, f"S6: a {before.status} run was changed by {doer.name}")
    if after.status not in machine.terminal and before.due != "never":
        _law(after.due != "never", "S3: an open run was made invisible to every claimer")
    if doer.staff or doer.clock:
        return
    mine = doer.fence == before.fence and before.status == machine.claimed
    if after.fence > before.fence and not (mine and after.status in subject.parked and after.lease == "none"):
        _law(after.fence == before.fence + 1, "S2: a claim takes the next fence")
        _law(before.status in machine.open and before.lease != "held", f"S2: {doer.name} took a run that is held")
        _law(after.row["attempts"] == before.row["attempts"] + 1, "an attempt is counted when it begins")
        return
    _law(after.fence <= before.fence + 1, "S2: an owner gives a run back to the next fence, not to one further on")
    _law(mine, f"S2: {doer.name} wrote under fence {doer.fence}; the run was {before.status} under {before.fence}")
    for step, seen in after.receipts.items():
        was = before.receipts.get(step)
        fresh = seen.at is not None and (was is None or was.at is None)
        _law(
            not fresh or seen.fence == doer.fence,
            f"S2: the receipt of {step} names fence {seen.fence}, not its owner's",
        )


def check_end(subject: Subject, pk: Any, carry_on: Any) -> Sight:
    """
    Raise Unlawful unless that run, left alone by everybody, is finished by the next boot passes; return how it ended.

    Args:
        carry_on: claims the run if it can, and advances it. Returns whether it was taken.
    """
    model = subject.model
    for _ in range(20):
        sight = look(subject, pk)
        assert sight is not None
        check_state(subject, sight)
        if sight.status in model.MACHINE.terminal:
            _law(not claim(model, using="default", owner="x", lease=60, taking=Taking(pk=pk)), "S6: it was taken again")
            return sight
        expire_leases(model(pk=pk))
        model.maintain("default")
        if model._base_manager.filter(pk=pk, status__in=model.MACHINE.terminal).exists():
            continue  # reaped: its budget was spent
        ahead = Taking(ahead=True, also=model.can_carry_out()).condition(model.MACHINE)
        _law(model._base_manager.filter(ahead, pk=pk).exists(), "S3: no boot pass would ever take it")
        _law(carry_on(pk), "S3: it could not be claimed")
    raise Unlawful("S3: twenty boot passes did not settle it")


def _law(holds: bool, sentence: str) -> None:
    if not holds:
        raise Unlawful(sentence)
