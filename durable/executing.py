"""
Executing: one attempt at a plan's steps, in their order, each with its receipt; it stops at the first that is not ok.

Each receipt's transaction begins with a write of the plan's row under its fence, while it is `executing`: that takes the row
lock, so nobody can take the plan away meanwhile. A database action runs inside, in a savepoint of its own: where it fails,
its effect is undone and the receipt that says so is committed. An external action is called outside any transaction, between
a record that it was begun and the receipt.
"""

from __future__ import annotations

import time
from typing import Any

from django.db import Error, connections, transaction
from django.db.models import F
from django.db.models.functions import Now

from . import actions, payloads, signals
from .conf import setting
from .context import Context
from .contract import NOW, Claim, Later
from .effects import commit, persistently, timed, undone_by_the_database
from .endings import Stopped, said_of, told
from .errors import Interrupted, LostLease, NotRecorded, Refused, StepTimeout, TargetMoved, Wait, text_of
from .freezing import frozen
from .patience import patience
from .proving import prove
from .run import clean_text
from .verdicts import BEGUN, CONFLICT, FAILED, FAILURE, OK, Ending

__all__ = ["Executing"]

_WORTH_A_WRITE = 0.1  # a step at least this long gets its whole lease back at its end


class Executing:
    """
    An owner's way through the steps that have no receipt yet.

    Args:
        plan: the run as the claim returned it; `plan.position_in_hand` tells how far the attempt came.
        claim: the right to write it.
    """

    def __init__(self, plan: Any, claim: Claim) -> None:
        self.plan = plan
        self.claim = claim
        self._receipts: dict[int, Any] = {}
        self._approver: Any = None
        self._error: BaseException | None = None

    def go(self) -> None:
        """Do the steps. Raises Stopped where one is not ok; the receipts written until then stay."""
        plan, claim = self.plan, self.claim
        self._receipts, self._approver = persistently(claim, lambda: prove(plan, claim.alias))
        todo = [position for position in range(len(plan.steps)) if not self._is_done(position)]
        if not todo:
            persistently(claim, lambda: claim.settle(plan.MACHINE.done, last_error="", cause=""))
        for position in todo:
            claim.check()
            plan.position_in_hand = position
            self._receipts[position] = receipt = self._do(position, last=position == todo[-1])
            plan.position_in_hand = None
            if receipt.kind != OK:
                raise Stopped(receipt.error) from self._error  # logs show the error's own text, pages do not
            signals.send(signals.step_done, plan, step=receipt.action, claim=claim)

    def _is_done(self, position: int) -> bool:
        return position in self._receipts and self._receipts[position].kind == OK

    # One step ----------------------------------------------------------------------------------------------------

    def _do(self, position: int, *, last: bool) -> Any:
        action: Any = actions.find(self.plan.steps[position]["action"])
        seconds = float(action.timeout if action.timeout is not None else setting("STEP_TIMEOUT"))
        if action.external is None:
            with timed(self.claim, seconds, transaction_on=connections[self.claim.alias]):
                return self._commit(position, lambda: self._database_step(position, action, last=last))
        self._commit(position, lambda: self._begin(position, action))
        with timed(self.claim, seconds):
            began = time.monotonic()
            ending = self._body(position, action)
            took = time.monotonic() - began
        try:
            with patience(self.claim.alias, self.claim.lease):
                return self._commit(position, lambda: self._end(position, action, ending, took, last=last))
        except Error as error:
            message = f"step {position + 1} of {self.plan} was called, and how it ended could not be recorded: {error}"
            raise NotRecorded(message) from error

    def _commit(self, position: int, work: Any) -> Any:
        return commit(self.claim, lambda: self._ours(position), work)

    def _ours(self, position: int) -> bool:
        """Return whether a receipt was committed under our fence: what a lost answer leaves open."""
        return bool(self._rows(position).filter(fence=self.claim.fence).exclude(kind=BEGUN).exists())

    def _rows(self, position: int) -> Any:
        return self.plan.log.using(self.claim.alias).filter(position=position)

    def _hold(self, position: int) -> Any:
        """Prove that the plan is ours, and lock its row. Return the receipt that is there already, if one is."""
        self.claim.write({"lease_expires_at": Later(self.claim.lease), "updated_at": NOW}, unless="settled_at")
        # Our own commit, believed lost, may have arrived before this one: then the step is done.
        return self._rows(position).exclude(kind=BEGUN).first()

    def _database_step(self, position: int, action: Any, *, last: bool) -> Any:
        before = self._hold(position)
        if before is not None:
            return before
        began = time.monotonic()
        ending = self._body(position, action)
        took = time.monotonic() - began
        return self._keep(position, action, ending, took, last=last)

    def _begin(self, position: int, action: Any) -> Any:
        """Record that an external call begins: if no receipt follows, people can see that it may have happened."""
        before = self._hold(position)
        if before is not None:
            return before
        rows, by = self._rows(position), {"fence": self.claim.fence, "owner": self.claim.owner}
        # Begun before under this very claim: the answer to our COMMIT was lost, and nothing was called yet.
        rows.exclude(fence=self.claim.fence).update(starts=F("starts") + 1, started_at=Now(), **by)
        if not rows.exists():
            self._add(position, action, kind=BEGUN, recorded_at=None, **by)
        return None

    def _end(self, position: int, action: Any, ending: Ending, took: float, *, last: bool) -> Any:
        before = self._hold(position)
        return before if before is not None else self._keep(position, action, ending, took, last=last)

    def _keep(self, position: int, action: Any, ending: Ending, took: float, *, last: bool) -> Any:
        """Write the receipt, and settle the plan where this was its last step or one that is not ok. Inside its transaction."""
        said: dict[str, Any] = {
            "kind": ending.kind, "output": ending.output, "versions": ending.versions, "error": ending.said,
            "took": round(took, 3), "fence": self.claim.fence, "owner": self.claim.owner,
        }  # fmt: skip
        if action.external is None or not self._rows(position).update(recorded_at=Now(), **said):
            self._add(position, action, **said)
        plan, claim = self.plan, self.claim
        if ending.kind != OK:
            cause = CONFLICT if ending.kind == CONFLICT else FAILURE
            claim.write({**claim.settling(plan.MACHINE.dead), **told(plan, claim, position, ending.error, cause)})
        elif last:
            claim.write({**claim.settling(plan.MACHINE.done), "last_error": "", "cause": "", "losses": 0})
        elif took >= _WORTH_A_WRITE:
            claim.write({"lease_expires_at": Later(claim.lease)})
        return self._rows(position).get()

    def _add(self, position: int, action: Any, **values: Any) -> None:
        """Insert a receipt. One of that position by anybody else makes it fail: the database holds (plan, position) unique."""
        self.plan.log.using(self.claim.alias).create(
            plan_id=self.plan.pk, position=position, action=action.name, guarantee=action.guarantee, **values
        )

    # The action itself -------------------------------------------------------------------------------------------

    def _body(self, position: int, action: Any) -> Ending:
        """Call the action, and return how it ended. What is not the action's own fault goes up."""
        connection, raw = connections[self.claim.alias], connections[self.claim.alias].connection
        try:
            if action.external is not None:
                return self._called(position, action)
            with transaction.atomic(using=self.claim.alias):
                return self._called(position, action)
        except (Wait, Interrupted, LostLease, StepTimeout):
            raise
        except TargetMoved as error:
            self._error = error
            return Ending(kind=CONFLICT, said=clean_text(text_of(error), 2_000), error=error)
        except Exception as error:
            if action.external is None and (self.claim.timed_out or undone_by_the_database(error, connection, raw)):
                raise
            self._error = error
            return Ending(kind=FAILED, said=said_of(error, action.external), error=error)

    def _called(self, position: int, action: Any) -> Ending:
        step = self.plan.steps[position]
        faults = action.schema.faults(step["args"])
        if faults:
            message = f"the arguments do not fit the action any more: {faults[0][0]}: {faults[0][1]}"
            raise Refused(message)
        args, context = action.schema.build(step["args"]), self._context(position)
        self._compare(action, args, context)
        output = frozen(action.run(args, context))
        payloads.check(output, f"the output of {action.name}")
        versions = [] if action.targets is None else list(action.targets(args, context))
        return Ending(kind=OK, output=output, versions=[[one.kind, str(one.id), one.version] for one in versions])

    def _context(self, position: int) -> Context:
        using = self.claim.alias
        context = Context(self.plan, position, using=using, executing=True, approver=self._approver)
        for target in self.plan.steps[position]["targets"]:
            context.versions[target["kind"], target["id"]] = target["version"]
        for earlier in sorted(self._receipts):
            receipt = self._receipts[earlier]
            if earlier < position and receipt.kind == OK:
                context.outputs[earlier] = receipt.output
                for kind, pk, version in receipt.versions:
                    if (kind, pk) in context.versions:
                        context.versions[kind, pk] = version
        return context

    def _compare(self, action: Any, args: Any, context: Context) -> None:
        """
        Raises:
            TargetMoved: a target is not at the version that the approver saw, or that an earlier step of the plan made.
        """
        for target in [] if action.targets is None else action.targets(args, context):
            wanted = context.baseline(target.kind, target.id)
            if (target.kind, str(target.id)) not in context.versions:
                message = f"{target.name} was not among what this step was approved to change"
                raise TargetMoved(message)
            if payloads.canonical(target.version) != payloads.canonical(wanted):
                message = f"{target.name} changed since it was reviewed: stored {target.version}, wanted {wanted}"
                raise TargetMoved(message)
