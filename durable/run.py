"""
Run: one durable row of any shape. The columns of the contract, and a save() that cannot undo them.

A shape is an abstract child that adds four names: `MACHINE`, `advance`, `fail`, `receipts`.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.db import models
from django.db.models.functions import Now

from .conf import setting
from .contract import Machine, Taking
from .errors import DurableError, text_of
from .ids import uuid7
from .lanes import Lane
from .redacting import redacted
from .staff import Decision, common

__all__ = [
    "CONTRACT", "FAILURES_KEPT", "ContractColumn", "Receipt", "Run", "RunQuerySet", "Seen", "clean_text", "failure",
    "storable", "trouble_index",
]  # fmt: skip

FAILURES_KEPT = 20
_ERROR_BYTES = 64 * 1024
_MESSAGE_CHARACTERS = 2_000

#: Columns that only the contract writes. A stale instance must not undo a fence, so `save()` leaves them out.
CONTRACT: frozenset[str] = frozenset(
    {
        "id", "status", "fence", "lease_expires_at", "owner", "due_at", "attempts", "losses", "last_error", "failures",
        "key", "arguments", "created_at", "updated_at", "settled_at",
    }
)  # fmt: skip


class ContractColumn(DurableError):
    """Somebody tried to save a column that only the contract writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What is recorded of one step."""

    step: str  # the step's name, or the position in a plan
    guarantee: str  # "exactly once" (of the record in our database), "keyed", "idempotent", "at-least-once"
    at: datetime | None  # when it was recorded, by the database's clock; None: not yet
    took: float | None = None  # seconds; None: not yet, or too short to be worth a write
    owner: str = ""  # host/pid of the process that did it
    fence: int | None = None  # under which claim
    starts: int = 0  # how often it was begun, as far as the newest failures tell
    skipped: str = ""  # why a person decided to leave it out; `owner` is then that person
    key: str = ""  # the idempotency key of its external call


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as somebody saw it, who then decides: a verb that is given one changes nothing if the run moved on."""

    status: str
    fence: int

    def as_pair(self) -> tuple[str, int]:
        """Return both, to be compared."""
        return (self.status, self.fence)

    def among(self, rows: Any) -> Any:
        """Return those of the rows that are still as they were seen."""
        return rows.filter(status=self.status, fence=self.fence)


if TYPE_CHECKING:
    _UUIDField = models.UUIDField[Any, Any]
else:
    _UUIDField = models.UUIDField


class RunId(_UUIDField):
    """The primary key. A plain UUIDField to migrations, so that they import nothing of ours."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"primary_key": True, "editable": False, **kwargs, "default": uuid7})

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        name, _, args, kwargs = super().deconstruct()
        del kwargs["default"]
        return name, "django.db.models.UUIDField", args, kwargs


class RunQuerySet(models.QuerySet[Any]):
    """Runs, with the questions one asks of them."""

    def open(self) -> Self:
        """Return the runs that are not settled."""
        return self.filter(status__in=self.model.MACHINE.open)

    def settled(self) -> Self:
        """Return the runs that will never run again."""
        return self.filter(status__in=self.model.MACHINE.terminal)

    def due(self) -> Self:
        """Return the open runs whose time has come and whose lease is free: what a claimer would take."""
        return self.filter(Taking().condition(self.model.MACHINE))

    def bulk_update(self, objs: Iterable[Any], fields: Iterable[str], batch_size: int | None = None) -> int:
        fields = list(fields)
        _refuse(self.model, fields)
        return super().bulk_update(objs, fields, batch_size)


class Run(models.Model):
    """
    One durable row: status machine, lease, fence, due time, budget, failures.

    Abstract. Nothing that correctness or speed needs stands in its Meta: a child that forgets to inherit it loses
    nothing. Times default to the database's clock, whoever inserts the row.
    """

    MACHINE: ClassVar[Machine]

    #: Whether a boot pass, too, leaves a run alone until it is due. False: a restart may have healed it, so it is tried.
    PATIENT: ClassVar[bool] = False

    #: Whether there are so few that each is told by itself on the overview.
    LISTED: ClassVar[bool] = False

    #: The order of the index in which open runs stand.
    DUE_ORDER: ClassVar[tuple[str, ...]] = ("due_at",)
    #: Terminal statuses that still wait for a person: such a run is never pruned.
    KEPT: ClassVar[frozenset[str]] = frozenset()

    #: Of an attempt under way, on this instance only: how `advance` settled it, where that is not the machine's `done`.
    settled_as: str = ""

    #: Likewise: the run and the claim that its worker carries on after this one, where it has another in hand.
    following: tuple[Any, Any] | None = None

    #: Likewise: when the receipt of the run before it recorded that its attempt begins, by this process's monotonic clock.
    begun_ahead: float | None = None

    id = RunId()
    status = models.CharField(max_length=16, editable=False)
    fence = models.BigIntegerField(default=0, editable=False)
    lease_expires_at = models.DateTimeField(null=True, editable=False)
    owner = models.CharField(max_length=200, blank=True, default="", editable=False)
    due_at = models.DateTimeField(null=True, db_default=Now(), editable=False, db_index=True)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    losses = models.PositiveIntegerField(default=0, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    failures = models.JSONField(default=list, editable=False)
    key = models.CharField(max_length=200, null=True, unique=True, editable=False)
    arguments = models.TextField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    settled_at = models.DateTimeField(null=True, editable=False, db_index=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.key or self.pk}"

    # The four names of a shape -----------------------------------------------------------------------------------

    def advance(self, claim: Any) -> None:
        """Carry the claimed run on until it settles. Raises what the user's code raises; the attempt catches it."""
        raise NotImplementedError

    def fail(self, claim: Any, error: BaseException) -> str:
        """Record that the attempt failed, and release or settle the run. Return the status it now has."""
        raise NotImplementedError

    def receipts(self) -> list[Receipt]:
        """Return what is recorded of each step, in their order."""
        raise NotImplementedError

    @classmethod
    def can_carry_out(cls) -> tuple[tuple[str, Any], ...]:
        """Return what a claimer asks of a run beyond being due: (column, value) pairs this code can carry out."""
        return ()

    @classmethod
    def lanes(cls, using: str) -> Sequence[Lane]:
        """Return the lanes a worker claims from, none waiting for another. One, for all runs this code can carry out."""
        return (Lane(also=cls.can_carry_out()),)

    @classmethod
    def lease_seconds(cls) -> float:
        """Return how long a worker's claim of a run of this kind holds without a renewal."""
        return float(setting("LEASE"))

    @classmethod
    def together(cls, batch: Sequence[tuple[Any, Any]]) -> Collection[Any]:
        """
        Do in one go what the runs of a lane with `together` have in common.

        Return the claims of those that are settled by it, and told; each of the others is concluded by an attempt.
        """
        return ()

    @classmethod
    def at_boot(cls, using: str, wanted: frozenset[str] | None) -> None:
        """Make due what a boot makes due; `wanted`: only the lanes of these names, because somebody named them."""

    @classmethod
    def maintain(cls, using: str) -> list[str]:
        """
        Mend what no claimer would ever see. Part of every boot pass, and of a watching worker once a minute.

        Return what a person must look at, one sentence each.
        """
        lost_from_sight = cls._base_manager.using(using).filter(
            settled_at__isnull=True, due_at__isnull=True, status__in=cls.MACHINE.open
        )
        lost_from_sight.update(due_at=Now())
        return []

    def lost(self, claim: Any) -> bool:
        """Record that the owner before this claim vanished. Return whether the run was given up because of it."""
        raise NotImplementedError

    def give_back(self, claim: Any, **changes: Any) -> None:
        """Give the claim back with the run still open: one that waits, is interrupted, or was never begun."""
        claim.release(**changes)

    def in_a_sentence(self, now: datetime) -> str:
        """Return this shape's own sentence on how the run stands; an empty one where the common words say it."""
        return ""

    def standstill(self) -> str:
        """Return why no worker may take this open run whatever its time, or an empty string."""
        return ""

    def progress(self) -> tuple[int, int]:
        """Return how many of how many steps are recorded, for lists: a shape that can asks for less than receipts do."""
        receipts = self.receipts()
        return sum(receipt.at is not None for receipt in receipts), len(receipts)

    @classmethod
    def staff_decisions(cls) -> tuple[Decision, ...]:
        """Return what staff may decide about a run of this shape, in the order of the buttons."""
        return common(cls.MACHINE)

    # Saving ------------------------------------------------------------------------------------------------------

    @classmethod
    def contract_columns(cls) -> frozenset[str]:
        """Return the names of the fields that only the contract writes."""
        return CONTRACT

    def save(  # noqa: DJ012 - after the four names a shape is made of
        self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any
    ) -> None:
        """
        Save the run's own fields. A row that exists keeps its contract columns, whatever this instance believes.

        Raises:
            ContractColumn: `update_fields` names a contract column.
        """
        if update_fields is not None:
            update_fields = list(update_fields)
            _refuse(type(self), update_fields)
        elif self._state.adding:
            self.status = self.status or self.MACHINE.waiting
        else:
            deferred, guarded = self.get_deferred_fields(), self.contract_columns()
            update_fields = [
                field.name
                for field in self._meta.concrete_fields
                if field.name not in guarded and field.attname not in deferred and not field.generated
            ]
        super().save(*args, update_fields=update_fields, **kwargs)


def trouble_index(table: str) -> models.Index:
    """Return the index of a table's settled runs that have an error: what was given up, and what was canceled failing."""
    name = f"{table[:16]}_{hashlib.sha256(table.encode()).hexdigest()[:6]}_bad"
    return models.Index(
        fields=["settled_at"], condition=models.Q(due_at__isnull=True) & ~models.Q(last_error=""), name=name
    )


def failure(run: Run, *, step: str, error: BaseException, owner: str, at: datetime) -> dict[str, Any]:
    """Return one entry of the failures list: JSON, bounded, safe to store on any database."""
    return {
        "at": at.isoformat(),
        "attempt": run.attempts,
        "step": step,
        "type": type(error).__name__,
        "message": clean_text(text_of(error), _MESSAGE_CHARACTERS),
        "owner": owner,
    }


def clean_text(text: str, characters: int = _ERROR_BYTES // 4) -> str:
    """Return what an error says, fit to be kept: without secrets, and storable."""
    if len(text) > 2 * characters:  # to look for secrets in what is left out anyway could take longer than a lease
        text = f"{text[:characters]} … {text[-characters:]}"
    return storable(redacted(text), characters)


def storable(text: str, characters: int = _ERROR_BYTES // 4) -> str:
    """
    Return text that every database can store: valid UTF-8, no NUL, bounded; the middle is what is left out.

    A NUL is a DataError, a lone surrogate a UnicodeEncodeError that slips past `except DatabaseError` (C30).
    """
    if len(text) > characters:
        half = (characters - 5) // 2
        text = f"{text[:half]} … {text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")


def canonical(run: models.Model, names: Iterable[str]) -> str:
    """
    Return fields of an unsaved run as text that compares equal when they are the same.

    A field's plain default counts as not given.
    """
    fields: list[Any] = [run._meta.get_field(name) for name in names]
    values = {field.attname: field.value_to_string(run) for field in fields if not _is_default(field, run)}
    return json.dumps(values, sort_keys=True, default=_as_text)


def _is_default(field: Any, run: models.Model) -> bool:
    return not callable(field.default) and field.has_default() and getattr(run, field.attname) == field.default


def _as_text(value: Any) -> str:
    return str(value) if isinstance(value, uuid.UUID | datetime) else repr(value)


def _refuse(model: type[Any], names: Iterable[str]) -> None:
    guarded = sorted(model.contract_columns() & set(names))
    if guarded:
        message = (
            f"{model._meta.label}: {', '.join(guarded)} belong to the contract and are never saved from an instance. "
            "Use the run's own verbs (run, cancel, retry), or queryset.update() if you must."
        )
        raise ContractColumn(message)
