"""
Operations: runs whose work is done by someone else. Begun at most once, known by a handle, and looked at until they end.

`running` means that it is in hand, here or over there. Between two looks nobody holds the row: whoever gives it back takes
the next fence for it, so that the claim it had can write nothing more. A failed look is no failed operation; when nobody
can say how it stands it is `unknown`, and waits for a person.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from django.db import connections, models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from . import calls, clock, decisions, explain, watching
from .attempt import attempt
from .conf import setting
from .contract import Claim, Machine, Taking, claim
from .effects import outside_transaction
from .errors import InsideTransaction, NotConfigured, Refused, Wait, WorkerLost, in_words, text_of
from .lanes import Lane, names_of_open
from .owner import current, label_of
from .run import CONTRACT, FAILURES_KEPT, Receipt, Run, RunQuerySet, clean_text, failure, trouble_index
from .staff import Decision, of_operations

__all__ = ["Operation"]

QUEUED, RUNNING, SUCCEEDED = "queued", "running", "succeeded"
FAILED, CANCELED, UNKNOWN = "failed", "canceled", "unknown"

_RECHECK = 60.0  # seconds until a kind that is not configured, or not in this process, is tried again


class Operation(Run):
    """One operation of somebody else. Made by `polling.start()`; carried on by the class of its kind."""

    MACHINE: ClassVar[Machine] = Machine(
        waiting=QUEUED,
        claimed=RUNNING,
        done=SUCCEEDED,
        dead=UNKNOWN,
        terminal=frozenset({SUCCEEDED, FAILED, CANCELED, UNKNOWN}),
        arrows=frozenset(
            {
                (QUEUED, CANCELED), (RUNNING, CANCELED), (UNKNOWN, CANCELED),
                (UNKNOWN, RUNNING), (FAILED, RUNNING), (UNKNOWN, QUEUED),
            }
        ),
    )  # fmt: skip
    PATIENT: ClassVar[bool] = True
    KEPT: ClassVar[frozenset[str]] = frozenset({UNKNOWN})
    DUE_ORDER: ClassVar[tuple[str, ...]] = ("kind", "due_at")

    #: Of an attempt under way, on this instance only: the call that was made last, and what giving it back writes.
    in_hand: str = ""
    left: Mapping[str, Any] = MappingProxyType({})

    kind = models.CharField(gettext_lazy("kind"), max_length=100, editable=False)
    key = models.CharField(max_length=200, editable=False)
    payload = models.JSONField(editable=False)
    one_at_a_time = models.CharField(max_length=200, blank=True, default="", editable=False)
    flight = models.CharField(max_length=320, null=True, unique=True, editable=False)
    started_by = models.CharField(max_length=254, blank=True, default="", editable=False)
    status = models.CharField(max_length=16, default=QUEUED, editable=False)
    due_at = models.DateTimeField(null=True, db_default=Now(), editable=False)
    begun_at = models.DateTimeField(null=True, editable=False)
    begun_fence = models.BigIntegerField(null=True, editable=False)
    accepted_at = models.DateTimeField(null=True, editable=False)
    accepted_fence = models.BigIntegerField(null=True, editable=False)
    accepted_by = models.CharField(max_length=200, blank=True, default="", editable=False)
    handle = models.TextField(blank=True, default="", editable=False)
    far_status = models.CharField(gettext_lazy("far status"), max_length=100, blank=True, default="", editable=False)
    seen = models.JSONField(default=list, editable=False)
    result = models.JSONField(null=True, editable=False)
    watched_since = models.DateTimeField(null=True, editable=False)
    held_until = models.DateTimeField(null=True, editable=False)
    cancel_asked_at = models.DateTimeField(null=True, editable=False)
    cancel_sent_at = models.DateTimeField(null=True, editable=False)
    decisions = models.JSONField(default=list, editable=False)

    class Meta:
        verbose_name = gettext_lazy("operation")
        verbose_name_plural = gettext_lazy("operations")
        constraints = [models.UniqueConstraint(fields=["key", "kind"], name="durable_operation_key")]
        indexes = [
            models.Index(fields=["kind", "due_at"], condition=Q(due_at__isnull=False), name="durable_operation_due"),
            models.Index(fields=["settled_at"], condition=Q(status=UNKNOWN), name="durable_operation_unknown"),
            trouble_index("durable_operation"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

    # What users call ---------------------------------------------------------------------------------------------

    def run(self) -> bool:
        """
        Claim it and do what comes next here and now: begin it, or look at it once. Never inside a transaction.

        Return whether it has succeeded, now or before.

        Raises:
            InsideTransaction: a transaction is open on its alias.
            LookupError: this code has no class of its kind.
        """
        using = self._state.db or "default"
        if not outside_transaction(using):
            message = (
                f"{self}: run() was called inside a transaction, which could take back what was begun. Call it after."
            )
            raise InsideTransaction(message)
        if calls.find(self.kind) is None:
            message = f"{self}: no class of the kind {self.kind!r} in this code"
            raise LookupError(message)
        taking = Taking(pk=self.pk)
        for pair in claim(type(self), using=using, owner=str(current()), lease=float(setting("LEASE")), taking=taking):
            attempt(*pair)
        self.refresh_from_db()
        return bool(self.status == SUCCEEDED)

    def nudge(self) -> bool:
        """
        Let a worker look soon, because somebody is watching. Return whether that changed anything.

        Never earlier than the far side asked (Retry-After), and not when it was looked at a moment ago. A page may call it
        at every poll: it asks nobody, it only makes the operation due.
        """
        return decisions.nudge(self)

    def retry(self) -> bool:
        """Look again, for the button that every run has: at one that waits soon, at one that is unknown or failed at once."""
        return decisions.look_again(self, by="") or decisions.nudge(self)

    def cancel(self, *, by: Any = "") -> bool:
        """
        Give it up. Return whether it is given up, or will be: False where it is over already.

        What was not begun never will be, and it is `canceled` at once. What is running is asked to stop, if its kind has
        `cancel()`, and goes on being watched: it ends as the far side says. If it has none, it is only watched no longer;
        the far side may finish it.
        """
        return decisions.cancel(self, by=by)

    def look_again(self, *, by: Any) -> bool:
        """Decide, for one that is unknown or failed: watch it again. Return whether it was moved; recorded with who."""
        return decisions.look_again(self, by=by)

    def it_happened(self, handle: str, *, by: Any) -> bool:
        """Decide, for one that is unknown: the far side has it, under this handle. It is watched from now on."""
        return decisions.it_happened(self, handle, by=by)

    def it_did_not_happen(self, *, by: Any) -> bool:
        """Decide, for one that is unknown: the far side does not have it. It is begun again, under the same key."""
        return decisions.it_did_not_happen(self, by=by)

    def receipts(self) -> list[Receipt]:
        """Return a receipt of the beginning, one for each status the far side showed, and one of its end."""
        known = calls.find(self.kind)
        first = Receipt(
            step="begin",
            guarantee="keyed" if known and known.keyed else "at most once",
            at=self.accepted_at,
            owner=self.accepted_by,
            fence=self.accepted_fence,
            starts=int(self.begun_at is not None),
        )
        shown = [
            Receipt(
                step=f"status {entry['status']}",
                guarantee="shown",
                at=decisions.when(entry["first"]),
                starts=1,
                owner=entry["by"],
                fence=entry["fence"],
            )
            for entry in self.seen
        ]
        succeeded = self.status == SUCCEEDED
        last = Receipt(
            step="poll",
            guarantee="idempotent",
            at=self.settled_at if succeeded else None,
            fence=self.fence if succeeded else None,
            starts=int(self.accepted_at is not None),
        )
        return [first, *shown, last]

    def explain(self) -> str:
        """Return one sentence: how it stands, why, and what happens next by itself."""
        return explain.explain(self)

    def standstill(self) -> str:
        """Return why no worker may take it though it is open, or an empty string."""
        if calls.find(self.kind):
            return ""
        return _("no class of the kind %(kind)r is in this code; it waits for code that has it") % {"kind": self.kind}

    @classmethod
    def staff_decisions(cls) -> tuple[Decision, ...]:
        return of_operations(cls.MACHINE)

    # What the machinery calls ------------------------------------------------------------------------------------

    @classmethod
    def contract_columns(cls) -> frozenset[str]:
        return CONTRACT | {field.name for field in cls._meta.concrete_fields}

    @classmethod
    def lanes(cls, using: str) -> Sequence[Lane]:
        """One lane per kind that this code can carry on."""
        return [_lane(kind.name) for kind in calls.known()]

    @classmethod
    def maintain(cls, using: str) -> list[str]:
        problems = super().maintain(using)
        rows = cls._base_manager.using(using)
        for name in names_of_open(Operation, "kind", using):
            if calls.find(name) is None:
                said = f"nobody will carry this on: no class of the kind {name!r} in this code"
                rows.filter(kind=name, due_at__isnull=False, lease_expires_at__isnull=True).update(last_error=said)
                problems.append(f"Open operations of the kind {name!r} wait for code that has its class.")
        undecided = rows.filter(status=UNKNOWN).order_by("-settled_at")
        for operation in undecided[:20]:
            problems.append(f"{operation} waits for a person: {explain.explain(operation)}")
        return problems

    def advance(self, claim: Claim) -> None:
        """Begin it, find it, or look at it; see `watching`."""
        self.left = {}
        kind = calls.find(self.kind)
        if kind is None:
            raise Wait(_RECHECK, f"no class of the kind {self.kind!r} in this process any more")
        watching.carry_on(self, claim, kind)

    def give_back(self, claim: Claim, **changes: Any) -> None:
        """Give the claim back: queued where nothing was begun; else running still, in the hands of the next fence."""
        given = {**changes, **self.left}
        begun = given.get("begun_at", self.begun_at) is not None or self.handle
        if begun:
            given |= {"status": RUNNING, "fence": claim.fence + 1}
        claim.release(**given)

    def fail(self, claim: Claim, error: BaseException) -> str:
        """Keep the error; look again later, or settle it where that is how it ended. A failed look fails nothing."""
        if isinstance(error, watching.Ended):
            return self._settle(claim, error.status, text_of(error), error.changes)
        kind, step = calls.find(self.kind), self.in_hand
        entry = failure(self, step=step, error=error, owner=claim.by, at=clock.read(connections[claim.alias]))
        said = in_words(error)
        kept: dict[str, Any] = {"failures": [entry, *self.failures][:FAILURES_KEPT], "losses": 0}
        if isinstance(error, Refused):
            # Begun again under its key, it may be the first call that was taken: then no is no answer.
            status = FAILED if self.left.get("begun_at", True) is None else UNKNOWN
            return self._settle(claim, status, f"refused: {text_of(error)}", {**kept, **self.left})
        if isinstance(error, NotConfigured):
            self.give_back(
                claim, due_in=_RECHECK, attempts=max(0, self.attempts - 1), last_error=clean_text(said), **kept
            )
            return QUEUED
        if kind is not None and self.begun_at is not None:
            if step == "begin" and not (kind.keyed or kind.can_find):
                reason = f"it may have been begun, and there is no way to look it up: {said}"
                return self._settle(claim, UNKNOWN, reason, kept)
            if watching.is_overdue(self, kind):
                reason = f"not over after {kind.give_up_after:g} s, and looks fail: {said}"
                return self._settle(claim, UNKNOWN, reason, kept)
        pause = kind.backoff.delay(self.attempts) if kind and isinstance(error, Exception) else 0.0
        self.give_back(claim, due_in=pause, last_error=clean_text(said), **kept)
        return RUNNING if self.begun_at is not None or self.handle else QUEUED

    def lost(self, claim: Claim) -> bool:
        """Record that the owner before us vanished. Return whether nobody looks any more because of it."""
        name = label_of(claim.lost_owner)
        what = (
            "before it was begun"
            if self.begun_at is None
            else "after it was begun"
            if self.handle
            else "as it was begun"
        )
        error = WorkerLost(f"{name} vanished {what} (loss {self.losses} in a row)")
        entry = failure(self, step="", error=error, owner=name, at=clock.read(connections[claim.alias]))
        entry["attempt"] = self.attempts - 1
        self.failures = [entry, *self.failures][:FAILURES_KEPT]
        if self.losses >= int(setting("MAX_LOSSES")):
            reason = f"the worker was lost {self.losses} times in a row, last {name}, {what}"
            self._settle(claim, UNKNOWN, reason, {"failures": self.failures})
            return True
        claim.write({"failures": self.failures, "last_error": f"WorkerLost: {error}"})
        return False

    def in_a_sentence(self, now: Any) -> str:
        return decisions.tell(self, now)

    def _settle(self, claim: Claim, status: str, reason: str, changes: dict[str, Any]) -> str:
        # A person may find that an unknown one is running: nothing else may take its place until then.
        landed = {} if status == UNKNOWN else {"flight": None}
        claim.settle(status, **{"last_error": clean_text(reason), **landed, **changes})
        return status

    def rows(self) -> RunQuerySet:
        """Return this row, for the conditional updates of staff."""
        return RunQuerySet(type(self), using=self._state.db).filter(pk=self.pk)


@functools.lru_cache(maxsize=1024)
def _lane(kind: str) -> Lane:
    # A far side may be slow: no kind ever holds every thread of a worker.
    return Lane(name=kind, within=(("kind", kind),), yields=True)
