"""
Watching: what is done for one operation under one claim. Begin it, or find it, or look at it; never begin it blindly twice.

The stamp `begun_at` is committed before `begin` is called, the handle after. An operation with the stamp and without a
handle is in doubt: it may have been begun. Only looking it up, a far side that takes our key, or a person ends a doubt.
"""

from __future__ import annotations

import logging
from typing import Any

from django.db import connections

from . import clock
from .calls import Accepted, Canceled, Failed, Kind, Pending, Succeeded
from .contract import NOW, Claim, Later
from .effects import commit, persistently, timed
from .errors import DurableError, LostLease, NotConfigured, Refused, Wait
from .patience import patience
from .payloads import BadPayload, check
from .run import clean_text, storable

__all__ = ["Ended", "carry_on", "is_overdue"]

logger = logging.getLogger("durable")

FAILED, CANCELED = "failed", "canceled"

_STATUSES_KEPT = 100
_LONGEST_STATUS = 100


class Ended(DurableError):
    """An attempt found how the operation ended, and it is not with a success. `status` is what it becomes."""

    def __init__(self, status: str, reason: str, **changes: Any) -> None:
        super().__init__(reason)
        self.status = status
        self.changes = changes


def carry_on(op: Any, claim: Claim, kind: Kind) -> None:
    """
    Do what comes next. Returns when the operation is settled as succeeded or canceled.

    Raises:
        Wait: it goes on; look again in so many seconds.
        Ended: it failed, or nobody knows.
        Exception: what the call raised; `op.in_hand` names it: begin, find, cancel or poll.
    """
    claim.check()
    if op.status in op.MACHINE.terminal:
        raise claim.lost_lease()
    if not op.handle:
        if op.begun_at is None:
            _stamp(op, claim)
            _begin(op, claim, kind, nothing={"begun_at": None})
        elif not _found(op, claim, kind):
            _begin(op, claim, kind, nothing={})  # under the same key: the far side begins nothing new
    if op.cancel_asked_at is not None and op.cancel_sent_at is None and not _ask_to_cancel(op, claim, kind):
        return
    _poll(op, claim, kind)


def is_overdue(op: Any, kind: Kind) -> bool:
    """Return whether it was watched for as long as anybody will, by the database's clock at the time of the claim."""
    return op.watched_since is not None and (op.updated_at - op.watched_since).total_seconds() >= kind.give_up_after


# Beginning ------------------------------------------------------------------------------------------------------------


def _stamp(op: Any, claim: Claim) -> None:
    """Commit that it is about to be begun. From here on it may have been."""
    op.in_hand = "begin"
    stamp: dict[str, Any] = {"begun_at": NOW, "begun_fence": claim.fence}
    if op.watched_since is None:
        stamp["watched_since"] = NOW
    commit(claim, "begun_at", lambda: claim.write(stamp, unless="begun_at"))
    op.begun_at, op.watched_since = op.updated_at, op.watched_since or op.updated_at


def _begin(op: Any, claim: Claim, kind: Kind, *, nothing: dict[str, Any]) -> None:
    """
    Call `begin`, and keep its answer. Raises Wait: the first look comes later.

    `nothing` is what the far side's *no* writes: the stamp is taken back, where no earlier call is in doubt.
    """
    op.in_hand = "begin"
    claim.check()
    try:
        with timed(claim, kind.timeout):
            answer = _answer(kind.call.begin(op), "begin")
    except Wait as wait:
        # The far side said no, for now: this call began nothing.
        if is_overdue(op, kind):
            reason = f"it was not begun: the far side said not now until we gave up, last: {wait.reason}"
            raise Ended(op.MACHINE.dead, reason, **nothing) from wait
        op.left = {**nothing, **_hold(wait)}
        raise
    except (Refused, NotConfigured):
        op.left = nothing
        raise
    _keep(op, claim, answer)
    raise Wait(kind.pause(), "")


def _found(op: Any, claim: Claim, kind: Kind) -> bool:
    """
    Look for an operation that may have been begun. Return False where it may be begun again.

    Raises:
        Wait: it is not there, and may yet appear.
        Ended: nobody knows.
    """
    op.in_hand = "find"
    if kind.can_find:
        with timed(claim, kind.timeout):
            found = kind.call.find(op)
        if found:
            _keep(op, claim, _answer(found, "find"))
            return True
        sought = (op.updated_at - op.begun_at).total_seconds()
        if not kind.keyed and sought < kind.find_for:
            raise Wait(min(kind.pause(), max(0.1, kind.find_for - sought)), "it may have been begun; looking for it")
    if kind.keyed:
        return False
    told = "the far side does not know it" if kind.can_find else "there is no way to look it up"
    reason = f"it may have been begun: no answer was recorded, and {told}. Look at the far side, and say what happened"
    raise Ended(op.MACHINE.dead, reason)


def _keep(op: Any, claim: Claim, answer: Accepted) -> None:
    """Commit the handle, once, however the database answers."""
    now = clock.read(connections[claim.alias])
    op.handle, op.seen = answer.handle, _seen(op.seen, answer.status, now, claim)
    kept: dict[str, Any] = {
        "handle": op.handle, "accepted_at": NOW, "accepted_fence": claim.fence, "accepted_by": claim.by, "seen": op.seen,
        "last_error": "", "losses": 0,
    }  # fmt: skip
    if answer.status:
        kept["far_status"] = op.far_status = _word(answer.status)
    try:
        with patience(claim.alias, claim.lease):
            commit(claim, "accepted_at", lambda: claim.write(kept, unless="accepted_at"))
    except LostLease:
        # The run goes on without us, and looks the operation up. Where it cannot, a person finds the handle here.
        logger.warning("answer came too late kind=%s pk=%s handle=%s", op.kind, op.pk, answer.handle)
        raise
    op.accepted_at, op.accepted_fence, op.accepted_by, op.losses, op.last_error = now, claim.fence, claim.by, 0, ""


def _answer(answer: Any, method: str) -> Accepted:
    told = answer if isinstance(answer, Accepted) else Accepted(answer if isinstance(answer, str) else "")
    if not isinstance(told.handle, str) or not told.handle or storable(told.handle, 4_000) != told.handle:
        message = f"{method}() must return the handle, a text of 1 to 4000 characters, or polling.Accepted, not {answer!r:.200}"
        raise TypeError(message)
    return told


# Looking --------------------------------------------------------------------------------------------------------------


def _ask_to_cancel(op: Any, claim: Claim, kind: Kind) -> bool:
    """Ask the far side to give it up, once. Return whether it goes on being watched."""
    op.in_hand = "cancel"
    if not kind.can_cancel:
        note = "no longer watched: the far side cannot be asked to stop, and may finish it"
        persistently(claim, lambda: claim.settle(CANCELED, last_error=note, flight=None))
        op.status = op.settled_as = CANCELED
        return False
    note = ""
    try:
        with timed(claim, kind.timeout):
            kind.call.cancel(op)
    except Refused as refused:
        note = f"the far side does not cancel it: {refused}"
    claim.write({"cancel_sent_at": NOW, "last_error": clean_text(note)})
    return True


def _poll(op: Any, claim: Claim, kind: Kind) -> None:
    op.in_hand = "poll"
    try:
        with timed(claim, kind.timeout):
            outcome = kind.call.poll(op)
    except Wait as wait:
        if is_overdue(op, kind):
            raise Ended(op.MACHINE.dead, _silence(op, kind, wait.reason)) from wait
        op.left = _hold(wait)
        raise
    if not isinstance(outcome, Pending | Succeeded | Failed | Canceled):
        message = f"poll() must return polling.Pending, Succeeded, Failed or Canceled, not {outcome!r:.200}"
        raise TypeError(message)
    shown = outcome.status or {Succeeded: "succeeded", Failed: "failed", Canceled: "canceled"}.get(type(outcome), "")
    looked: dict[str, Any] = {"seen": _seen(op.seen, shown, clock.read(connections[claim.alias]), claim)}
    if shown:
        looked["far_status"] = _word(shown)
    if isinstance(outcome, Pending):
        if is_overdue(op, kind):
            raise Ended(op.MACHINE.dead, _silence(op, kind, f"still {shown or 'pending'}"), **looked)
        op.left = {**looked, "attempts": 0, "losses": 0, "held_until": None}
        raise Wait(kind.pause() if outcome.next_in is None else outcome.next_in, "")
    if isinstance(outcome, Failed):
        raise Ended(FAILED, outcome.reason or "the far side says it failed", **looked)
    looked |= {"last_error": "", "flight": None}
    if isinstance(outcome, Canceled):
        looked["last_error"] = clean_text(outcome.reason)
        persistently(claim, lambda: claim.settle(CANCELED, **looked))
        op.status = op.settled_as = CANCELED
        return
    persistently(claim, lambda: claim.settle(op.MACHINE.done, result=_storable(outcome.result), **looked))
    op.status = op.MACHINE.done


def _silence(op: Any, kind: Kind, last: str) -> str:
    hours = f"{kind.give_up_after:g} s"
    return f"not over after {hours} ({last}); nobody looks any more. It may go on over there: look again, or say what happened"


def _hold(wait: Wait) -> dict[str, Any]:
    """Return what keeps others from looking earlier than was asked for."""
    return {"held_until": Later(wait.seconds)}


def _seen(seen: list[dict[str, Any]], status: str, now: Any, claim: Claim) -> list[dict[str, Any]]:
    """Return the receipts of the far side's statuses with this one: each name once, when it was first and last shown."""
    if not status:
        return seen
    name, at = _word(status), now.isoformat()
    if any(entry["status"] == name for entry in seen):
        return [{**entry, "last": at} if entry["status"] == name else entry for entry in seen]
    return [*seen, {"status": name, "first": at, "last": at, "by": claim.by, "fence": claim.fence}][-_STATUSES_KEPT:]


def _word(status: Any) -> str:
    return clean_text(str(status), _LONGEST_STATUS)[:_LONGEST_STATUS]


def _storable(result: Any) -> Any:
    """Return the result, or its text where it cannot be stored: done is done, whatever the far side told of it."""
    try:
        check(result, "result")
    except BadPayload:
        return {"text": clean_text(repr(result), 4_000)}
    return result
