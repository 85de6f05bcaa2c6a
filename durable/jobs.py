"""
Jobs: runs made of steps, one timestamp column each.

A database step's receipt is the first statement of its transaction: its effect happens exactly once. An external step's
receipt follows its effect in a transaction of its own: the effect happens at least once, and the step says what a repeat
does. The last receipt settles the job in the same statement.
"""

from __future__ import annotations

import copy
import functools
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from django.db import connections, models, transaction
from django.db.models.functions import Now
from django.db.models.signals import class_prepared
from django.dispatch import receiver

from . import clock, explain, signals, starting
from .attempt import Outcome, attempt
from .backoff import Backoff
from .conf import setting
from .contract import NOW, Claim, Later, Machine, Taking, claim, transition
from .effects import commit, outside_transaction, persistently, timed
from .errors import InsideTransaction, Refused, WorkerLost, text_of
from .owner import current, parse
from .patience import patience
from .run import CONTRACT, FAILURES_KEPT, Receipt, Run, RunQuerySet, clean_text, failure
from .steps import Step

__all__ = ["Job", "JobManager"]

PENDING, RUNNING, DONE, DEAD, CANCELED = "pending", "running", "done", "dead", "canceled"

#: A database step at least this long is worth a second write: how long it took, and a lease that has not aged meanwhile.
_WORTH_A_WRITE = 0.1


class JobManager(models.Manager.from_queryset(RunQuerySet)):  # type: ignore[misc]
    """`objects` of a job: everything a queryset has, and how a job begins."""

    def start(self, key: str | None = None, **fields: Any) -> Any:
        """
        Record that the operation is to be done, in the caller's transaction or in one of its own.

        Whoever reconciles does it; call `run()` on the result, after commit, to do it here and now.

        Args:
            key: the idempotency key. The same key with the same arguments returns the run there is, settled or not.
            fields: the job's own fields.

        Returns:
            The job, new or as it stands.

        Raises:
            KeyConflict: the key was used with other arguments.
            AlreadyInFlight: another open run holds the values named in `one_in_flight`.
        """
        return starting.start(self.model, self._db, key, fields)

    def run(self, key: str | None = None, **fields: Any) -> Any:
        """
        Start the job and carry it out at once, in this thread. It is born claimed, so no worker can be faster.

        Takes, returns and raises what `start` does. A job that was started before under this key is run if it is open.

        Raises:
            InsideTransaction: a transaction is open; its receipts would hang on it.
        """
        return starting.start_and_run(self.model, self._db, key, fields)


class Job(Run):
    """
    A multi-step operation. Subclass it, add fields and `@step` methods, and `makemigrations`.

    Class attributes:
        retry: a Backoff, spacing and budget of attempts; by default tried until done. Read it back as `backoff`: on an
            instance, `retry()` is the verb.
        one_in_flight: names of own fields; no two open runs share their values.
        retired_steps: names of steps that older runs may still carry and that this code has dropped on purpose.
        max_losses: workers lost in a row before the run is given up; None: the MAX_LOSSES setting.
    """

    MACHINE: ClassVar[Machine] = Machine(
        waiting=PENDING,
        claimed=RUNNING,
        done=DONE,
        dead=DEAD,
        terminal=frozenset({DONE, DEAD, CANCELED}),
        arrows=frozenset(
            {(PENDING, CANCELED), (RUNNING, CANCELED), (DEAD, PENDING), (CANCELED, PENDING), (PENDING, PENDING)}
        ),
    )
    backoff: ClassVar[Backoff] = Backoff()
    one_in_flight: ClassVar[list[str]] = []
    retired_steps: ClassVar[list[str]] = []
    max_losses: ClassVar[int | None] = None

    # Of an attempt under way, on this instance only.
    _in_hand: str = ""
    _log_to_be: dict[str, Any] = {}
    _logged_fence: int | None = None

    status = models.CharField(max_length=16, default=PENDING, editable=False)
    step_names = models.TextField(blank=True, default="", editable=False)
    step_log = models.JSONField(default=dict, editable=False)

    objects = JobManager()  # type: ignore[misc]

    class Meta(Run.Meta):
        abstract = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declared = vars(cls).get("retry")
        if isinstance(declared, Backoff):
            cls.backoff = declared
            del cls.retry

    # What users call ---------------------------------------------------------------------------------------------

    def run(self) -> bool:
        """
        Claim the job and carry it out here and now, whenever it is due. Never inside a transaction.

        Returns:
            True when the job is done, now or before. False when it stopped: it failed (the error is kept, the lease
            released), it waits, it was canceled or given up, or somebody else holds it.

        Raises:
            InsideTransaction: a transaction is open on the job's alias.
        """
        using = self._state.db or "default"
        if not outside_transaction(using):
            message = (
                f"{self}: run() was called inside a transaction, so its receipts could vanish with it. "
                "Call it after the transaction: transaction.on_commit(job.run), or let `manage.py reconcile` do it."
            )
            raise InsideTransaction(message)
        outcome = self._claim_and_attempt(using)
        if outcome is None and self._carries_other_steps():
            type(self).adopt(self._row())
            outcome = self._claim_and_attempt(using)
        if outcome is None:
            self.refresh_from_db()
            return bool(self.status == DONE)
        return outcome is Outcome.DONE

    def cancel(self) -> bool:
        """
        Settle the job as canceled, unless it is settled already. Return whether it was this call that did it.

        Steps with a receipt stay done. A step in hand is fenced off: a database step of the owner is waited for; an
        external call already sent cannot be called back, and leaves no receipt. `on_cancel` runs in the transaction.
        """
        with transaction.atomic(using=self._state.db):
            moved = transition(self._row(), (PENDING, RUNNING), CANCELED, **starting.landing(type(self)))
            if moved:
                self.refresh_from_db()
                self.on_cancel()
        self.refresh_from_db()
        return moved

    def retry(self) -> bool:
        """
        Make the job due at once, with a fresh budget: one that waits, or one that was given up or canceled.

        Return whether it was moved: a job that is done, or that somebody holds, is left alone.

        Raises:
            AlreadyInFlight: another open run took its place meanwhile.
        """
        with starting.no_other_in_flight(self):
            moved = transition(
                self._row(), (PENDING, DEAD, CANCELED), PENDING, attempts=0, losses=0, **starting.boarding(self)
            )
        self.refresh_from_db()
        return moved

    def receipts(self) -> list[Receipt]:
        """Return one receipt per step, in the order they run; `at` is None where a step is still to come."""
        by = self._who_did_what()
        found = []
        for name, step in self.steps().items():
            at, log = getattr(self, step.column), self.step_log.get(name, {})
            owner, fence = by.get(name, ("", None))
            failed = sum(entry.get("step") == name for entry in self.failures)
            found.append(
                Receipt(
                    step=name,
                    guarantee=step.guarantee,
                    at=at,
                    took=log.get("took"),
                    owner=owner,
                    fence=fence,
                    starts=log.get("starts", 1) if at else failed,
                )
            )
        return found

    def explain(self) -> str:
        """Return one sentence: what the job is doing, why, and what happens next by itself."""
        return explain.explain(self)

    def key_for(self, step: str) -> str:
        """Return the idempotency key of one step's external call: the same on every attempt, unlike any other run's."""
        return f"{self._meta.label_lower}:{self.pk}:{step}"

    def on_start(self) -> None:
        """Override it: what commits together with the new row, such as a flag that blocks the user."""

    def on_cancel(self) -> None:
        """Override it: what commits together with the cancellation, such as taking that flag away."""

    # What the machinery calls ------------------------------------------------------------------------------------

    @classmethod
    def steps(cls) -> dict[str, Step]:
        """Return the steps by name, in the order they run: the order of their declaration, parents first."""
        return _steps_of(cls)

    @classmethod
    def contract_columns(cls) -> frozenset[str]:
        return _contract_columns_of(cls)

    @classmethod
    def names_of_steps(cls) -> str:
        """Return what a run carries to say which steps it has: their names, in no order, as reordering changes nothing."""
        return ",".join(sorted(cls.steps()))

    @classmethod
    def can_carry_out(cls) -> tuple[tuple[str, Any], ...]:
        """Only runs that have the steps this code has: code of last week must not settle a run of today's."""
        return (("step_names", cls.names_of_steps()),)

    @classmethod
    def adopt(cls, rows: models.QuerySet[Any]) -> dict[str, int]:
        """
        Take over the runs that were started by code with other steps, where this code knows every step they name.

        Return what is left: names of unknown steps, and how many open runs carry them. Those wait for code that knows
        them, or for the names to stand in `retired_steps`.
        """
        mine = cls.names_of_steps()
        free = models.Q(lease_expires_at__isnull=True) | models.Q(lease_expires_at__lte=Now())
        others = rows.filter(free, settled_at__isnull=True, status__in=cls.MACHINE.open).exclude(step_names=mine)
        left = {}
        for theirs in list(others.order_by().values_list("step_names", flat=True).distinct()):
            unknown = {*filter(None, theirs.split(","))} - cls.steps().keys() - {*cls.retired_steps}
            if unknown:
                left[", ".join(sorted(unknown))] = others.filter(step_names=theirs).count()
            else:
                adopted = others.filter(step_names=theirs)
                # With the next fence where somebody holds it: an owner of old code that wakes up would settle it
                # without the steps it has not heard of.
                adopted.filter(status=cls.MACHINE.claimed).update(step_names=mine, fence=models.F("fence") + 1)
                adopted.update(step_names=mine)
        return left

    @classmethod
    def maintain(cls, using: str) -> list[str]:
        problems = super().maintain(using)
        for unknown, count in cls.adopt(cls._base_manager.using(using).all()).items():
            problems.append(
                f"{cls._meta.label}: {count} open run(s) have a step this code does not know: {unknown}. They wait for "
                f"code that does; if it was dropped on purpose, name it in {cls.__name__}.retired_steps."
            )
        return problems

    def advance(self, claim: Claim) -> None:
        """Do the steps without a receipt, in order, each with its receipt. The last one settles the job."""
        self._log_to_be, self._logged_fence = self.step_log, None
        todo = [step for step in self.steps().values() if getattr(self, step.column) is None]
        if not todo:
            persistently(claim, lambda: claim.settle(DONE, **starting.landing(type(self))))
        for step in todo:
            claim.check()
            self._in_hand = step.name
            before = self._own_values()
            try:
                written = self._do(step, claim, last=step is todo[-1])
            finally:
                # What a step assigned without returning it is undone: a run resumed after a crash would not see it.
                self._put_back(before)
            self._learn(step, claim, written)
            if signals.step_done.receivers:
                signals.send(signals.step_done, self, step=step.name, claim=claim)
        self._in_hand = ""

    def fail(self, claim: Claim, error: BaseException) -> str:
        """Keep the error on the row and release the job for a later attempt, or give it up when the budget is spent."""
        label = claim.by
        step = self._in_hand
        entry = failure(self, step=step, error=error, owner=label, at=clock.read(connections[claim.alias]))
        said = f"{entry['type']}: {text_of(error)}" if text_of(error) else entry["type"]
        changes: dict[str, Any] = {"failures": [entry, *self.failures][:FAILURES_KEPT], "losses": 0}
        if isinstance(error, Refused):
            changes["last_error"] = clean_text(f"{step} refused: {text_of(error)}")
        elif self.backoff.spent(self.attempts):
            changes["last_error"] = clean_text(f"given up after {self.attempts} attempts: {said}")
        else:
            pause = 0.0 if not isinstance(error, Exception) else self.backoff.delay(self.attempts)
            claim.release(due_in=pause, last_error=clean_text(said), **changes)
            return PENDING
        claim.settle(DEAD, **changes, **starting.landing(type(self)))
        return DEAD

    def lost(self, claim: Claim) -> bool:
        """Record that the owner before us vanished. Return whether the job was given up because of it."""
        before = parse(claim.lost_owner or "")
        name = before.label if before else claim.lost_owner or "an unknown owner"
        step = next(
            (step.name for step in self.steps().values() if getattr(self, step.column) is None), "the settlement"
        )
        most = self.max_losses if self.max_losses is not None else setting("MAX_LOSSES")
        error = WorkerLost(f"{name} vanished during {step} (loss {self.losses} in a row)")
        entry = failure(self, step=step, error=error, owner=name, at=clock.read(connections[claim.alias]))
        entry["attempt"] = self.attempts - 1
        kept = [entry, *self.failures][:FAILURES_KEPT]
        if self.losses < most and not self.backoff.spent(self.attempts - 1):
            claim.write({"failures": kept, "last_error": f"WorkerLost: {error}"})
            self.failures = kept
            return False
        if self.losses < most:
            said = f"given up after {self.attempts - 1} attempts: WorkerLost: {error}"
        else:
            said = f"given up: the worker was lost {self.losses} times in a row, last {name} during {step}"
        claim.settle(DEAD, failures=kept, last_error=said, **starting.landing(type(self)))
        return True

    # The two kinds of step ---------------------------------------------------------------------------------------

    def _do(self, step: Step, claim: Claim, *, last: bool) -> set[str]:
        seconds = self._seconds_for(step)
        if step.external is None:
            with timed(claim, seconds, in_transaction=True):
                return commit(claim, step.column, lambda: self._database_step(step, claim, last=last))
        with timed(claim, seconds, in_transaction=False):
            began = time.monotonic()
            result = step.body(self)
            took = time.monotonic() - began
        return self._record_external(step, claim, result, took, last=last)

    @staticmethod
    def _seconds_for(step: Step) -> float:
        return step.timeout if step.timeout is not None else float(setting("STEP_TIMEOUT"))

    def _database_step(self, step: Step, claim: Claim, *, last: bool) -> set[str]:
        # Stamp before the body: the UPDATE takes the row lock and proves the fence, so nobody takes the run meanwhile.
        claim.write(self._stamp(step, claim, None, last=last), unless=step.column)
        began = time.monotonic()
        fields = self._own_fields(step, step.body(self))
        took = time.monotonic() - began
        late: dict[str, Any] = dict(fields)
        if took >= _WORTH_A_WRITE:
            late["step_log"] = self._log(step, claim, took) or self.step_log
            if not last:
                late["lease_expires_at"] = Later(claim.lease)
        if late:
            claim.write(late, states=(DONE if last else RUNNING,))
        return set(fields)

    def _record_external(self, step: Step, claim: Claim, result: Any, took: float, *, last: bool) -> set[str]:
        if step.record_body is None:
            fields = self._own_fields(step, result)
            stamp = self._stamp(step, claim, took, last=last) | fields
            with patience(claim.alias, claim.lease):
                commit(claim, step.column, lambda: claim.write(stamp, unless=step.column))
            return set(fields)
        record, fields = step.record_body, {}
        if isinstance(result, Mapping) and set(result) <= self._own_names():
            fields = self._own_fields(step, result)

        def receipt() -> set[str]:
            claim.write(self._stamp(step, claim, took, last=last) | fields, unless=step.column)
            more = self._own_fields(step, record(self, result))
            if more:
                claim.write(more, states=(DONE if last else RUNNING,))
            return {*fields, *more}

        with patience(claim.alias, max(claim.lease, self._seconds_for(step))):
            return commit(claim, step.column, receipt)

    def _stamp(self, step: Step, claim: Claim, took: float | None, *, last: bool) -> dict[str, Any]:
        stamp: dict[str, Any] = {step.column: NOW}
        log = self._log(step, claim, took)
        if log is not None:
            stamp["step_log"] = log
        # Written only where they change something: an owner's copy is the truth while its fence holds.
        if self.attempts != 1:
            stamp["attempts"] = 1
        if self.losses:
            stamp["losses"] = 0
        if self.last_error:
            stamp["last_error"] = ""
        if last:
            return {**stamp, **claim.settling(DONE), **starting.landing(type(self))}
        return {**stamp, "lease_expires_at": Later(claim.lease), "updated_at": NOW}

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
        failed = sum(one.get("step") == step.name for one in self.failures)
        if failed:
            entry["starts"] = failed + 1
        if not entry:
            return None
        self._log_to_be = {**self.step_log, step.name: entry}
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
            if name not in self._own_names():
                message = f"step {step.name!r} returned {name!r}, which is not one of the job's own fields"
                raise Refused(message)
        own: dict[str, Any] = {name: self._meta.get_field(name) for name in returned}
        return {
            own[name].name: getattr(value, own[name].target_field.attname) if isinstance(value, models.Model) else value
            for name, value in returned.items()
        }

    @classmethod
    def _own_names(cls) -> frozenset[str]:
        return _own_names_of(cls)

    def _learn(self, step: Step, claim: Claim, written: set[str]) -> None:
        """Make this instance show what the row now holds, as a resumed run would read it."""
        self.__dict__.pop(step.column, None)  # read from the row when somebody asks
        self.attempts, self.losses, self.last_error, self.step_log = 1, 0, "", self._log_to_be
        self._logged_fence = self.fence
        if written:
            persistently(claim, lambda: self.refresh_from_db(fields=sorted(written)))

    def _claim_and_attempt(self, using: str) -> Outcome | None:
        """Take this run if it is free, carry it out, and let this instance show it. None: it was not free."""
        taking = Taking(pk=self.pk, also=type(self).can_carry_out())
        taken = claim(type(self), using=using, owner=str(current()), lease=float(setting("LEASE")), taking=taking)
        for run, right in taken:
            outcome = attempt(run, right)
            self.__dict__.update(run._own_values())
            self.forget_contract()
            return outcome
        return None

    def forget_contract(self) -> None:
        """Let this instance read its contract columns from the row when somebody asks for one."""
        for name in self.contract_columns() - {"id"}:
            self.__dict__.pop(name, None)

    def _carries_other_steps(self) -> bool:
        return self._row().open().exclude(step_names=self.names_of_steps()).exists()

    def _who_did_what(self) -> dict[str, tuple[str, int | None]]:
        """Return owner and fence of each receipt: those of the last one before it, in time, that names them."""
        found: dict[str, tuple[str, int | None]] = {}
        recorded = [(getattr(self, step.column), name) for name, step in self.steps().items()]
        latest: tuple[str, int | None] = ("", None)
        for _, name in sorted((pair for pair in recorded if pair[0] is not None), key=lambda pair: pair[0]):
            log = self.step_log.get(name, {})
            if "fence" in log:
                latest = (log["by"], log["fence"])
            found[name] = latest
        return found

    def _own_values(self) -> dict[str, Any]:
        """Return a copy of the job's own fields as they are loaded, safe from changes made in place."""
        guarded, values = self.contract_columns(), self.__dict__
        return {
            field.attname: copy.deepcopy(values[field.attname])
            for field in self._meta.concrete_fields
            if field.name not in guarded and field.attname in values
        }

    def _put_back(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        relations: list[Any] = [field for field in self._meta.concrete_fields if field.is_relation]
        for field in relations:
            if field.is_cached(self):
                related = field.get_cached_value(self)
                value = None if related is None else getattr(related, field.target_field.attname)
                if value != self.__dict__.get(field.attname):
                    field.delete_cached_value(self)

    def _row(self) -> RunQuerySet:
        return RunQuerySet(type(self), using=self._state.db).filter(pk=self.pk)


@receiver(class_prepared)
def _add_flight(sender: type[models.Model], **_: Any) -> None:
    """Give a job that declares `one_in_flight` the unique column that keeps its promise: a value while open, NULL after."""
    if issubclass(sender, Job) and sender.one_in_flight:
        sender.add_to_class("flight", models.CharField(max_length=200, null=True, unique=True, editable=False))


@functools.cache
def _steps_of(model: type[Job]) -> dict[str, Step]:
    found: dict[str, Step] = {}
    for parent in reversed(model.__mro__):
        for name, value in vars(parent).items():
            if isinstance(value, Step) and name == value.name:
                found[name] = value
            else:
                found.pop(name, None)
    return found


@functools.cache
def _contract_columns_of(model: type[Job]) -> frozenset[str]:
    receipts = {step.column for step in model.steps().values()}
    return CONTRACT | receipts | {"step_names", "step_log", "flight"}


@functools.cache
def _own_names_of(model: type[Job]) -> frozenset[str]:
    own = [field for field in model._meta.concrete_fields if field.name not in model.contract_columns()]
    return frozenset(name for field in own for name in (field.name, field.attname))
