"""
Jobs: runs made of steps, one timestamp column each.

A database step's receipt is the first statement of its transaction: its effect happens exactly once. An external step's
receipt follows its effect in a transaction of its own: the effect happens at least once, and the step says what a repeat
does. The last receipt settles the job in the same statement.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from django.db import connections, models, transaction
from django.db.models.signals import class_prepared
from django.dispatch import receiver

from . import adopting, clock, explain, receipts, skipping, starting
from .attempt import Outcome, attempt
from .backoff import Backoff
from .conf import setting
from .contract import Claim, Machine, Taking, claim, transition
from .effects import outside_transaction
from .errors import InsideTransaction, Refused, WorkerLost, in_words, text_of
from .owner import current, label_of
from .run import CONTRACT, FAILURES_KEPT, Receipt, Run, RunQuerySet, Seen, clean_text, failure, trouble_index
from .staff import Decision, of_jobs
from .stepping import Stepping, own_values
from .steps import Step

__all__ = ["Job", "JobManager"]

PENDING, RUNNING, DONE, DEAD, CANCELED = "pending", "running", "done", "dead", "canceled"


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

    #: Of an attempt under way, on this instance only.
    step_in_hand: str = ""

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
            adopting.adopt(type(self), self._row())
            outcome = self._claim_and_attempt(using)
        if outcome is None:
            self.refresh_from_db()
            return bool(self.status == DONE)
        return outcome is Outcome.DONE

    def cancel(self, *, seen: Seen | None = None) -> bool:
        """
        Settle the job as canceled, unless it is settled already. Return whether it was this call that did it.

        With `seen`, only a job that is still as the caller saw it.

        Steps with a receipt stay done. A step in hand is fenced off: a database step of the owner is waited for; an
        external call already sent cannot be called back, and leaves no receipt. `on_cancel` runs in the transaction.
        """
        with transaction.atomic(using=self._state.db):
            moved = transition(self._row(seen), (PENDING, RUNNING), CANCELED, **starting.landing(type(self)))
            if moved:
                self.refresh_from_db()
                self.on_cancel()
        self.refresh_from_db()
        return moved

    def retry(self, *, seen: Seen | None = None) -> bool:
        """
        Make the job due at once, with a fresh budget: one that waits, or one that was given up or canceled.

        With `seen`, only a job that is still as the caller saw it.

        Return whether it was moved: a job that is done, or that somebody holds, is left alone. For one that was canceled
        `on_start` runs again, in the same transaction.

        Raises:
            AlreadyInFlight: another open run took its place meanwhile.
        """
        fresh = {"attempts": 0, "losses": 0, **starting.boarding(self)}
        with transaction.atomic(using=self._state.db), starting.no_other_in_flight(self):
            moved = transition(self._row(seen), (PENDING, DEAD), PENDING, **fresh)
            if not moved and transition(self._row(seen), CANCELED, PENDING, **fresh):
                moved = True
                self.refresh_from_db()
                self.on_start()  # what its cancellation took back
        self.refresh_from_db()
        return moved

    def skip(self, step: str, *, reason: str, by: str = "", seen: Seen | None = None) -> bool:
        """
        Leave a step out for ever, by a person's decision, and go on with the others at once.

        Its receipt column is stamped and its entry in the step log says that it was skipped, by whom and why. Return
        whether that was recorded: a job that somebody holds, that is done or canceled, or that has the receipt, is left
        alone. With `seen`, only a job that is still as the caller saw it.

        Raises:
            ValueError: no such step, or no reason.
            AlreadyInFlight: the job was given up, and another open run took its place meanwhile.
        """
        return skipping.skip(self, step, reason=reason, by=by, rows=self._row(seen))

    def receipts(self) -> list[Receipt]:
        """Return one receipt per step, in the order they run; `at` is None where a step is still to come."""
        return receipts.of_steps(self)

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

    def standstill(self) -> str:
        return adopting.unknown_to(self)

    def progress(self) -> tuple[int, int]:
        columns = [step.column for step in self.steps().values()]
        return sum(getattr(self, column) is not None for column in columns), len(columns)

    @classmethod
    def staff_decisions(cls) -> tuple[Decision, ...]:
        return of_jobs(cls.MACHINE)

    @classmethod
    def maintain(cls, using: str) -> list[str]:
        return [*super().maintain(using), *adopting.left_alone(cls, using)]

    def advance(self, claim: Claim) -> None:
        """Do the steps without a receipt, in order, each with its receipt. The last one settles the job."""
        begun: Stepping | None = self.__dict__.pop("_stepping", None)
        (begun or Stepping(self, claim)).go()

    def stepping(self, claim: Claim) -> Stepping:
        """Return the way through the steps that `advance` will go, for who begins it ahead of the attempt."""
        self._stepping = Stepping(self, claim)
        return self._stepping

    def fail(self, claim: Claim, error: BaseException) -> str:
        """Keep the error on the row and release the job for a later attempt, or give it up when the budget is spent."""
        label = claim.by
        step = self.step_in_hand
        entry = failure(self, step=step, error=error, owner=label, at=clock.read(connections[claim.alias]))
        said = in_words(error)
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
        name = label_of(claim.lost_owner)
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

    @classmethod
    def own_names(cls) -> frozenset[str]:
        """Return the names of the fields a step may return."""
        return _own_names_of(cls)

    def _claim_and_attempt(self, using: str) -> Outcome | None:
        """Take this run if it is free, carry it out, and let this instance show it. None: it was not free."""
        taking = Taking(pk=self.pk, also=type(self).can_carry_out())
        taken = claim(type(self), using=using, owner=str(current()), lease=float(setting("LEASE")), taking=taking)
        for run, right in taken:
            outcome = attempt(run, right)
            self.__dict__.update(own_values(run))
            self.forget_contract()
            return outcome
        return None

    def forget_contract(self) -> None:
        """Let this instance read its contract columns from the row when somebody asks for one."""
        for name in self.contract_columns() - {"id"}:
            self.__dict__.pop(name, None)

    def _carries_other_steps(self) -> bool:
        return self._row().open().exclude(step_names=self.names_of_steps()).exists()

    def _row(self, seen: Seen | None = None) -> RunQuerySet:
        rows = RunQuerySet(type(self), using=self._state.db).filter(pk=self.pk)
        return seen.among(rows) if seen else rows


@receiver(class_prepared)
def _add_flight(sender: type[models.Model], **_: Any) -> None:
    """Give a job that declares `one_in_flight` the unique column that keeps its promise: a value while open, NULL after."""
    if issubclass(sender, Job) and sender.one_in_flight:
        sender.add_to_class("flight", models.CharField(max_length=200, null=True, unique=True, editable=False))


@receiver(class_prepared)
def _add_index_of_trouble(sender: type[models.Model], **_: Any) -> None:
    """
    Give every job the index that finds the settled runs with an error, among millions that went well.

    Not from a Meta, which a child forgets to inherit. Only a failing attempt writes one of its columns on an open run.
    """
    if issubclass(sender, Job) and not sender._meta.proxy:
        index = trouble_index(sender._meta.db_table)
        sender._meta.indexes = [*sender._meta.indexes, index]
        sender._meta.original_attrs["indexes"] = sender._meta.indexes


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
