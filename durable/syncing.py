"""
Syncing: one pass over rows, by their key, with a checkpoint every second and a summary at its end.

What is written of a pass is its own small row: how far it is, what it counted, the first errors. A row that is synced
leaves nothing here; after a crash the pass goes on behind the last checkpoint, and syncs a few rows again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from django.db import Error, connections, models, router
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from . import clock, explain, signals, syncs, waking
from .attempt import attempt
from .backoff import Backoff
from .clock import InSeconds
from .conf import setting
from .contract import NOW, Claim, Machine, Taking, claim, transition
from .effects import mend, outside_transaction, persistently, timed
from .errors import (
    DurableError,
    InsideTransaction,
    Interrupted,
    LostLease,
    NotConfigured,
    Wait,
    WorkerLost,
    in_words,
    text_of,
)
from .inserting import insert
from .lanes import Lane
from .owner import current, label_of
from .run import CONTRACT, FAILURES_KEPT, Receipt, Run, RunQuerySet, clean_text, failure
from .staff import Decision, of_passes

__all__ = ["Pass", "counted"]

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"

_PAGE = 100
_ERRORS_KEPT = 10
_CHECKPOINT = 1.0  # seconds between two
_RECHECK = 60.0


class _RowsFailed(DurableError):
    """The pass came to its end, and some rows could not be synced."""


class Pass(Run):
    """One pass: made again and again on the same row. `summary` is of the last that came to its end."""

    MACHINE: ClassVar[Machine] = Machine(
        waiting=WAITING,
        claimed=RUNNING,
        done=DONE,
        dead=FAILED,
        terminal=frozenset({DONE, FAILED}),
        arrows=frozenset({(DONE, WAITING), (FAILED, WAITING)}),
    )
    KEPT: ClassVar[frozenset[str]] = frozenset({DONE, FAILED})
    LISTED: ClassVar[bool] = True
    backoff: ClassVar[Backoff] = Backoff()

    #: Of an attempt under way, on this instance only: what giving it back writes.
    left: Mapping[str, Any] = MappingProxyType({})

    key = models.CharField(max_length=100, unique=True, editable=False)
    status = models.CharField(max_length=16, default=WAITING, editable=False)
    began_at = models.DateTimeField(null=True, editable=False)
    cursor = models.TextField(null=True, editable=False)
    tally = models.JSONField(default=dict, editable=False)
    summary = models.JSONField(default=dict, editable=False)
    summary_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = gettext_lazy("pass")
        verbose_name_plural = gettext_lazy("passes")

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.key}"

    # What users call ---------------------------------------------------------------------------------------------

    @classmethod
    def asked_for(cls, name: str, using: str | None = None) -> Pass:
        """Make the pass due, whenever the last one was; see `passes.request`."""
        alias = using or router.db_for_write(cls)
        _arm(alias, cls._base_manager.using(alias).filter(key=name), name)
        waking.ring_after_commit(alias)
        return cls._base_manager.using(alias).get(key=name)

    def run(self) -> bool:
        """
        Make the pass here and now, or what is left of it. Never inside a transaction.

        Return whether it came to its end without a failed row.

        Raises:
            InsideTransaction: a transaction is open on its alias.
        """
        using = self._state.db or "default"
        if not outside_transaction(using):
            message = f"{self}: run() was called inside a transaction. Call it after."
            raise InsideTransaction(message)
        taking = Taking(pk=self.pk)
        for pair in claim(type(self), using=using, owner=str(current()), lease=float(setting("LEASE")), taking=taking):
            attempt(*pair)
        self.refresh_from_db()
        return bool(self.status == DONE)

    def retry(self) -> bool:
        """Make it due again at once. Return whether it was moved: one that waits or is under way is left alone."""
        moved = transition(self._row(), (DONE, FAILED), WAITING, attempts=0, losses=0)
        self.refresh_from_db()
        return moved

    def cancel(self) -> bool:
        """Return False: a pass has nothing to take back. It is made again, or it is not registered any more."""
        return False

    def receipts(self) -> list[Receipt]:
        """Return none: a pass keeps a summary, not a receipt per row."""
        return []

    def explain(self) -> str:
        """Return one sentence: when it last ran and how, and what happens next by itself."""
        return explain.explain(self)

    def standstill(self) -> str:
        """Return why no worker may take it though it is open, or an empty string."""
        if syncs.find(self.key):
            return ""
        return _("no pass %(key)r is in this code; it waits for code that has it") % {"key": self.key}

    @classmethod
    def staff_decisions(cls) -> tuple[Decision, ...]:
        return of_passes(cls.MACHINE)

    def in_a_sentence(self, now: Any) -> str:
        last = _told(self.summary, self.summary_at) if self.summary else _("It has never come to its end.")
        so_far = counted(self.tally)
        if self.status == DONE:
            return _("Done; it is made again at the next boot, or when it is asked for.") + f" {last}"
        if self.status in self.MACHINE.terminal:
            return _("Failed; it is made again at the next boot, or when it is asked for.") + f" {last}"
        if self.status == RUNNING and self.lease_expires_at is not None and self.lease_expires_at > now:
            facts = {"who": self.owner.partition(" ")[0], "counts": so_far}
            return _("Running: %(who)s is at it, so far %(counts)s.") % facts + f" {last}"
        why = self.standstill()
        if why:
            return _("Held up: %(why)s.") % {"why": why} + f" {last}"
        said = _("Waiting: the next worker or boot pass goes on with it, so far %(counts)s.") % {"counts": so_far}
        if self.last_error:
            last += " " + _("Last: %(error)s") % {"error": self.last_error.splitlines()[0][:200]}
        return f"{said} {last}"

    # What the machinery calls ------------------------------------------------------------------------------------

    @classmethod
    def contract_columns(cls) -> frozenset[str]:
        return CONTRACT | {field.name for field in cls._meta.concrete_fields}

    @classmethod
    def lanes(cls, using: str) -> Sequence[Lane]:
        """One lane per pass that this code can make."""
        return [Lane(name=one.name, also=(("key", one.name),), most=1, yields=True) for one in syncs.known()]

    @classmethod
    def at_boot(cls, using: str, wanted: frozenset[str] | None) -> None:
        """Make the passes due that a boot makes, and those that were named, whenever they last ran."""
        for one in syncs.known():
            rows = cls._base_manager.using(using).filter(key=one.name)
            if wanted is not None:
                if one.name in wanted:
                    _arm(using, rows, one.name)
            elif one.at_boot:
                _arm(using, rows.filter(Q(status=FAILED) | Q(settled_at__lte=InSeconds(-one.fresh_for))), one.name)

    @classmethod
    def maintain(cls, using: str) -> list[str]:
        problems = super().maintain(using)
        for one in syncs.known():
            if one.every is not None:
                rows = cls._base_manager.using(using).filter(key=one.name, settled_at__lte=InSeconds(-one.every))
                transition(rows, (DONE, FAILED), WAITING, attempts=0, losses=0)
        return problems

    def advance(self, claim: Claim) -> None:
        """Sync every row behind the cursor. The end of the pass settles it, with its summary."""
        sync = syncs.find(self.key)
        if sync is None:
            raise Wait(_RECHECK, f"no pass {self.key!r} in this process any more")
        claim.check()
        if self.began_at is None:
            self.tally = _nothing_yet()
            persistently(claim, lambda: claim.write({"began_at": NOW, "cursor": None, "tally": self.tally}))
            self.began_at, self.cursor = self.updated_at, None
        _Sweep(self, claim, sync).go()
        self._settle(claim)

    def give_back(self, claim: Claim, **changes: Any) -> None:
        claim.release(**{**changes, **self.left})

    def fail(self, claim: Claim, error: BaseException) -> str:
        """Keep the error, and what was done: the pass goes on from there later. Failed rows alone are its end."""
        if isinstance(error, _RowsFailed):
            claim.settle(FAILED, **self._ended(claim), last_error=clean_text(text_of(error)))
            return FAILED
        entry = failure(
            self, step=self.cursor or "", error=error, owner=claim.by, at=clock.read(connections[claim.alias])
        )
        said = in_words(error)
        pause = self.backoff.delay(self.attempts) if isinstance(error, Exception) else 0.0
        kept = {"failures": [entry, *self.failures][:FAILURES_KEPT], "losses": 0, "last_error": clean_text(said)}
        self.give_back(claim, due_in=pause, **kept)
        return WAITING

    def lost(self, claim: Claim) -> bool:
        """Record that the owner before us vanished. Return whether the pass was given up because of it."""
        name = label_of(claim.lost_owner)
        where = f"behind the key {self.cursor}" if self.cursor else "among the first rows"
        error = WorkerLost(f"{name} vanished {where} (loss {self.losses} in a row)")
        entry = failure(self, step=self.cursor or "", error=error, owner=name, at=clock.read(connections[claim.alias]))
        self.failures = [entry, *self.failures][:FAILURES_KEPT]
        if self.losses >= int(setting("MAX_LOSSES")):
            said = f"given up: the worker was lost {self.losses} times in a row, last {name}, {where}"
            claim.settle(FAILED, failures=self.failures, last_error=said)
            return True
        claim.write({"failures": self.failures, "last_error": f"WorkerLost: {error}"})
        return False

    def _settle(self, claim: Claim) -> None:
        failed = self.tally["failed"]
        if failed:
            first = self.tally["errors"][0]
            seen = sum(self.tally[name] for name in ("synced", "failed"))
            message = (
                f"{failed} of {seen} rows failed; the first: {first['row']}: {first['type']}: {_line(first['message'])}"
            )
            raise _RowsFailed(message)
        persistently(claim, lambda: claim.settle(DONE, **self._ended(claim), last_error=""))

    def _ended(self, claim: Claim) -> dict[str, Any]:
        now = clock.read(connections[claim.alias])
        took = round((now - self.began_at).total_seconds(), 3) if self.began_at else None
        summary = {**self.tally, "began_at": self.began_at.isoformat() if self.began_at else None, "took": took}
        return {"summary": summary, "summary_at": NOW, "tally": {}, "cursor": None, "began_at": None, "losses": 0}

    def _row(self) -> RunQuerySet:
        return RunQuerySet(type(self), using=self._state.db).filter(pk=self.pk)


class _Sweep:
    """One go of a pass: the rows behind the cursor, until they end, the time budget is spent, or something stops it."""

    def __init__(self, row: Pass, claim: Claim, sync: syncs.Registered) -> None:
        self.row, self.claim, self.sync = row, claim, sync
        self._began = self._written = time.monotonic()

    def go(self) -> None:
        row, tally = self.row, self.row.tally
        self._tell()
        for one in self._rows():
            self.claim.check()
            self._sync(one, tally)
            row.cursor = one._meta.pk.value_to_string(one)
            row.left = {"cursor": row.cursor, "tally": tally}
            self._checkpoint()
            budget = self.sync.budget
            if budget is not None and time.monotonic() - self._began >= budget:
                raise Wait(0.0, f"the time budget of {budget:g} s is spent; it goes on behind the key {row.cursor}")
        self._tell()

    def _rows(self) -> Iterator[Any]:
        rows = self.sync.call.rows().order_by("pk")
        pk = rows.model._meta.pk
        while True:
            behind = rows if self.row.cursor is None else rows.filter(pk__gt=pk.to_python(self.row.cursor))
            page = list(behind[:_PAGE])
            yield from page
            if len(page) < _PAGE:
                return

    def _sync(self, one: Any, tally: dict[str, Any]) -> None:
        try:
            with timed(self.claim, self.sync.timeout):
                changed = self.sync.call.sync(one)
        except (LostLease, Interrupted, Wait, NotConfigured):
            raise
        except Exception as error:  # noqa: BLE001 - one row's failure never stops the rest
            if isinstance(error, Error):
                mend(connections[self.claim.alias])
            tally["failed"] += 1
            if len(tally["errors"]) < _ERRORS_KEPT:
                told = {"row": str(one.pk), "type": type(error).__name__, "message": clean_text(text_of(error), 500)}
                tally["errors"] = [*tally["errors"], told]
            return
        tally["synced"] += 1
        tally["changed"] += bool(changed)

    def _checkpoint(self) -> None:
        if time.monotonic() - self._written < min(_CHECKPOINT, self.claim.lease / 3):
            return
        # Also what tells an owner that lost the pass to stop.
        persistently(self.claim, lambda: self.claim.write({**self.row.left, "updated_at": NOW}))
        self._written = time.monotonic()
        self._tell()

    def _tell(self) -> None:
        if signals.run_progressed.has_listeners(Pass):
            total = self.sync.call.rows().count()
            seen = self.row.tally["synced"] + self.row.tally["failed"]
            signals.send(signals.run_progressed, self.row, seen=seen, total=total, claim=self.claim)


def _arm(using: str, rows: Any, name: str) -> None:
    """Make it due: a new row, or the one there is if its last pass is over."""
    if not insert(Pass(key=name), using, lease=None):
        transition(rows, (DONE, FAILED), WAITING, attempts=0, losses=0)


def _nothing_yet() -> dict[str, Any]:
    return {"synced": 0, "changed": 0, "failed": 0, "errors": []}


def counted(tally: Mapping[str, Any]) -> str:
    """Return what was counted, in words."""
    counts = {name: tally.get(name, 0) for name in ("synced", "changed", "failed")}
    return _("%(synced)s synced, %(changed)s changed, %(failed)s failed") % counts


def _told(summary: Mapping[str, Any], at: Any) -> str:
    when = f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else _("an unknown time")
    errors = "; ".join(f"{one['row']}: {one['type']}: {_line(one['message'])}" for one in summary["errors"][:3])
    facts = {"when": when, "counts": counted(summary) + (f" ({errors})" if errors else "")}
    if summary.get("took") is None:
        return _("Last time it ended at %(when)s: %(counts)s.") % facts
    return _("Last time it ended at %(when)s in %(took)s s: %(counts)s.") % {**facts, "took": f"{summary['took']:g}"}


def _line(text: str) -> str:
    """Return the first line of what an error says, short enough for a sentence with three of them."""
    return text.strip().partition("\n")[0][:120]
