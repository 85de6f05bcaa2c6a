"""
Stepping: one attempt at a job's steps, in order, each with its receipt.

A database step's receipt is the first statement of its transaction. An external step's receipt follows its call, in a
transaction of its own with the fields it returned and the body of its `record`. The last receipt settles the job.
"""

from __future__ import annotations

import copy
import datetime
import functools
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connections, models

from . import signals, starting
from .chain import Chain
from .conf import setting
from .contract import NOW, Claim, Later
from .effects import commit, persistently, timed
from .errors import Interrupted, LostLease, Refused
from .patience import patience
from .steps import Step

__all__ = ["Stepping", "own_values"]

#: A database step at least this long is worth a second write: how long it took, and a lease that has not aged meanwhile.
_WORTH_A_WRITE = 0.1


class Stepping:
    """
    An owner's way through the steps that have no receipt yet.

    Args:
        job: the run as the claim returned it; `job.step_in_hand` tells how far the attempt came.
        claim: the right to write it.
    """

    def __init__(self, job: Any, claim: Claim) -> None:
        self.job = job
        self.claim = claim
        self._log_to_be: dict[str, Any] = job.step_log
        self._logged_fence: int | None = None
        self._timeout = float(setting("STEP_TIMEOUT"))
        self._todo: list[Step] = []  # after the step in hand, the next one last
        self._quiet = False  # the step in hand wrote nothing but its receipt
        self._chain = Chain(connections[claim.alias], self._begin_next)

    def go(self) -> None:
        """Do the steps. Raises what they raise; the receipts written until then stay."""
        job, claim = self.job, self.claim
        steps = type(job).steps().values()
        todo = [step for step in steps if getattr(job, step.column) is None]
        if not todo:
            persistently(claim, lambda: claim.settle(job.MACHINE.done, **starting.landing(type(job))))
        self._todo = todo[::-1]
        try:
            while self._todo:
                self._take(self._todo.pop())
        finally:
            self.put_down()
        job.step_in_hand = ""

    def begin_ahead(self, insertion: tuple[str, Sequence[Any]]) -> bool | None:
        """
        Insert the run, born claimed, and begin its first step, in one message, where that is a step of the database.

        Args:
            insertion: the INSERT and its parameters.

        Returns:
            Whether the run was inserted. None: nothing was sent. Begun or not, `go` does all the steps.
        """
        steps = list(type(self.job).steps().values())
        if not steps or steps[0].external is not None:
            return None
        first, claim, connection = steps[0], self.claim, self._chain.connection

        def send() -> tuple[bool | None, bool]:
            claim.deadline = time.monotonic() + self._seconds_for(first)
            stamp = self._stamp(first, claim, None, last=len(steps) == 1)
            return claim.write_ahead(connection, insertion, stamp, unless=first.column)

        return self._chain.begin_ahead(send)

    def put_down(self) -> None:
        """Roll back what was begun for a step that is not done after all."""
        self._chain.close()

    def _take(self, step: Step) -> None:
        job, claim = self.job, self.claim
        claim.check()
        job.step_in_hand = step.name
        before = own_values(job)
        try:
            written = self._do(step, claim, last=not self._todo)
        finally:
            # What a step assigned without returning it is undone: a run resumed after a crash would not see it.
            _put_back(job, before)
        self._learn(step, claim, written)
        if signals.step_done.receivers:
            signals.send(signals.step_done, job, step=step.name, claim=claim)

    def _do(self, step: Step, claim: Claim, *, last: bool) -> set[str]:
        seconds = self._seconds_for(step)
        if step.external is None:
            with timed(claim, seconds, transaction_on=self._chain.connection):
                work = functools.partial(self._database_step, step, claim, last=last)
                return commit(claim, step.column, work, self._chain)
        with timed(claim, seconds):
            began = time.monotonic()
            result = step.body(self.job)
            took = time.monotonic() - began
        return self._record_external(step, claim, result, took, last=last)

    def _seconds_for(self, step: Step) -> float:
        return step.timeout if step.timeout is not None else self._timeout

    def _database_step(self, step: Step, claim: Claim, *, last: bool) -> set[str]:
        # Stamp before the body: the UPDATE takes the row lock and proves the fence, so nobody takes the run meanwhile.
        if not self._chain.is_begun:
            claim.write(self._stamp(step, claim, None, last=last), unless=step.column)
        began = time.monotonic()
        fields = self._own_fields(step, step.body(self.job))
        took = time.monotonic() - began
        late: dict[str, Any] = dict(fields)
        if took >= _WORTH_A_WRITE:
            late["step_log"] = self._log(step, claim, took) or self.job.step_log
            if not last:
                late["lease_expires_at"] = Later(claim.lease)
        self._quiet = not late
        if late:
            claim.write(late, states=self._states(last=last))
        return set(fields)

    def _begin_next(self) -> bool:
        """Commit the step in hand together with the next one's receipt, where that needs nothing to be learned first."""
        claim = self.claim
        if not (self._todo and self._quiet) or self.job.failures or signals.step_done.receivers:
            return False
        step = self._todo[-1]
        if step.external is not None:
            return False
        try:
            claim.check()
        except (LostLease, Interrupted):
            return False  # this step is committed, and the check before the next one raises
        claim.deadline = time.monotonic() + self._seconds_for(step)
        stamp = self._receipt(step, claim, last=len(self._todo) == 1)
        return claim.write_next(self._chain.connection, stamp, unless=step.column)

    def _record_external(self, step: Step, claim: Claim, result: Any, took: float, *, last: bool) -> set[str]:
        if step.record_body is None:
            # Only a plain dictionary is meant as fields: many clients return an object of theirs, which is of no use here.
            fields = self._own_fields(step, result if type(result) is dict else None)
            stamp = self._stamp(step, claim, took, last=last) | fields
            with patience(claim.alias, claim.lease):
                commit(claim, step.column, lambda: claim.write(stamp, unless=step.column))
            return set(fields)
        record, fields = step.record_body, {}
        if isinstance(result, Mapping) and set(result) <= self.job.own_names():
            fields = self._own_fields(step, result)

        def receipt() -> set[str]:
            claim.write(self._stamp(step, claim, took, last=last) | fields, unless=step.column)
            more = self._own_fields(step, record(self.job, result))
            if more:
                claim.write(more, states=self._states(last=last))
            return {*fields, *more}

        with patience(claim.alias, max(claim.lease, self._seconds_for(step))):
            return commit(claim, step.column, receipt)

    def _states(self, *, last: bool) -> tuple[str, ...]:
        """Return the status the run has inside the transaction of a receipt, once that is written."""
        return (self.job.MACHINE.done if last else self.job.MACHINE.claimed,)

    def _stamp(self, step: Step, claim: Claim, took: float | None, *, last: bool) -> dict[str, Any]:
        stamp: dict[str, Any] = {}
        log = self._log(step, claim, took)
        if log is not None:
            stamp["step_log"] = log
        # Written only where they change something: an owner's copy is the truth while its fence holds.
        if self.job.attempts != 1:
            stamp["attempts"] = 1
        if self.job.losses:
            stamp["losses"] = 0
        if self.job.last_error:
            stamp["last_error"] = ""
        return self._receipt(step, claim, last=last) | stamp

    def _receipt(self, step: Step, claim: Claim, *, last: bool) -> dict[str, Any]:
        """Return what every receipt writes; nothing else is to be said where another was written in this attempt."""
        if last:
            return {step.column: NOW, **claim.settling(self.job.MACHINE.done), **starting.landing(type(self.job))}
        return {step.column: NOW, "lease_expires_at": Later(claim.lease), "updated_at": NOW}

    def _log(self, step: Step, claim: Claim, took: float | None) -> dict[str, Any] | None:
        """
        Return the step log with what is worth saying of this step, or None where nothing is.

        Who holds the run is said by the first receipt under each fence; it is so for those that follow.
        """
        entry: dict[str, Any] = {}
        if self._logged_fence != claim.fence:
            entry = {"by": claim.by, "fence": claim.fence}
        if took is not None:
            entry["took"] = round(took, 3)
        if self.job.failures:
            failed = sum(one.get("step") == step.name for one in self.job.failures)
            if failed:
                entry["starts"] = failed + 1
        if not entry:
            return None
        self._log_to_be = {**self.job.step_log, step.name: entry}
        return self._log_to_be

    def _own_fields(self, step: Step, returned: Any) -> dict[str, Any]:
        """Return the fields a step gave back, by name; refuse what is not the job's own."""
        if returned is None:
            return {}
        if not isinstance(returned, Mapping):
            message = (
                f"step {step.name!r} returned {type(returned).__name__}; return a dictionary of own fields, or None"
            )
            raise Refused(message)
        for name in returned:
            if name not in self.job.own_names():
                message = f"step {step.name!r} returned {name!r}, which is not one of the job's own fields"
                raise Refused(message)
        own: dict[str, Any] = {name: self.job._meta.get_field(name) for name in returned}
        return {
            own[name].name: getattr(value, own[name].target_field.attname) if isinstance(value, models.Model) else value
            for name, value in returned.items()
        }

    def _learn(self, step: Step, claim: Claim, written: set[str]) -> None:
        """Make the instance show what the row now holds, as a resumed run would read it."""
        job = self.job
        job.__dict__.pop(step.column, None)  # read from the row when somebody asks
        job.attempts, job.losses, job.last_error, job.step_log = 1, 0, "", self._log_to_be
        self._logged_fence = claim.fence
        if written:
            persistently(claim, lambda: job.refresh_from_db(fields=sorted(written)))


def own_values(job: Any) -> dict[str, Any]:
    """Return a copy of the job's own fields as they are loaded, safe from changes made in place."""
    values = job.__dict__
    return {
        name: value if type(value) in _UNCHANGEABLE else copy.deepcopy(value)
        for name in _own_attributes(type(job))  # type: ignore[arg-type]
        if (value := values.get(name, _ABSENT)) is not _ABSENT
    }


def _put_back(job: Any, values: dict[str, Any]) -> None:
    job.__dict__.update(values)
    for field in _relations(type(job)):  # type: ignore[arg-type]
        if field.is_cached(job):
            related = field.get_cached_value(job)
            value = None if related is None else getattr(related, field.target_field.attname)
            if value != job.__dict__.get(field.attname):
                field.delete_cached_value(job)


_ABSENT = object()
_UNCHANGEABLE = {type(None), bool, int, float, str, bytes, Decimal, UUID, datetime.date, datetime.datetime}


@functools.cache
def _own_attributes(model: Any) -> tuple[str, ...]:
    guarded = model.contract_columns()
    return tuple(field.attname for field in model._meta.concrete_fields if field.name not in guarded)


@functools.cache
def _relations(model: Any) -> tuple[Any, ...]:
    return tuple(field for field in model._meta.concrete_fields if field.is_relation)
