"""
Messages: runs of one external effect, whose receipt is the row itself, with a record of every attempt.

A message is sent at least once. Its receipt follows the send in a transaction of its own, so a crash between the two
sends it again, under the same key. The record of an attempt is committed before the send begins: one that stays open says
that the message may have gone out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from django.db import connections, models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from . import clock, explain, pauses, reaping, sending, topics
from .attempt import Outcome, attempt
from .conf import setting
from .contract import Claim, Machine, claim, transition
from .effects import outside_transaction
from .errors import InsideTransaction, NotConfigured, NotRecorded, Refused, Wait, WorkerLost, in_words, text_of
from .lanes import Lane
from .message_lanes import earlier_in_line, lane_of
from .owner import current, label_of
from .run import CONTRACT, FAILURES_KEPT, Receipt, Run, RunQuerySet, Seen, clean_text, failure, trouble_index
from .staff import Decision, of_messages

__all__ = ["Message"]

PENDING, PROCESSING, SENT, FAILED, DEAD = "pending", "processing", "sent", "failed", "dead"

_RECHECK = 60.0  # seconds until a topic that is not configured is tried again


class Message(Run):
    """One message of the outbox. Made by `outbox.post()`; sent by the handler of its topic."""

    MACHINE: ClassVar[Machine] = Machine(
        waiting=PENDING,
        claimed=PROCESSING,
        done=SENT,
        dead=DEAD,
        terminal=frozenset({SENT, FAILED, DEAD}),
        arrows=frozenset({(DEAD, PENDING), (FAILED, PENDING)}),
    )
    PATIENT: ClassVar[bool] = True
    DUE_ORDER: ClassVar[tuple[str, ...]] = ("topic", "due_at")

    topic = models.CharField(gettext_lazy("topic"), max_length=100, editable=False)
    key = models.CharField(max_length=200, editable=False)
    payload = models.JSONField(editable=False)
    ordering_key = models.CharField(max_length=200, blank=True, default="", editable=False)
    ordinal = models.PositiveBigIntegerField(default=0, editable=False)
    provider_id = models.CharField(max_length=200, blank=True, default="", editable=False)
    status = models.CharField(max_length=16, default=PENDING, editable=False)
    due_at = models.DateTimeField(null=True, db_default=Now(), editable=False)

    class Meta:
        verbose_name = gettext_lazy("message")
        verbose_name_plural = gettext_lazy("messages")
        # Only one index begins with the topic: offered another, a planner without statistics claims by that, and sorts.
        constraints = [models.UniqueConstraint(fields=["key", "topic"], name="durable_message_key")]
        indexes = [
            # One index a claim, and only open messages stand in it: a million sent ones cost a claim nothing.
            models.Index(fields=["topic", "due_at"], condition=Q(due_at__isnull=False), name="durable_message_due"),
            models.Index(
                fields=["ordering_key", "topic", "ordinal"],
                condition=Q(due_at__isnull=False) & ~Q(ordering_key=""),
                name="durable_message_line",
            ),
            trouble_index("durable_message"),
        ]

    def __str__(self) -> str:
        return f"{self.topic} {self.key}"

    # What users call ---------------------------------------------------------------------------------------------

    def run(self) -> bool:
        """
        Claim the message and send it here and now, whenever it is due. Never inside a transaction.

        Return whether it is sent, now or before.

        Raises:
            InsideTransaction: a transaction is open on the message's alias.
            LookupError: this code has no handler of its topic.
        """
        using = self._state.db or "default"
        if not outside_transaction(using):
            message = (
                f"{self}: run() was called inside a transaction, which could take back what was sent. Call it after."
            )
            raise InsideTransaction(message)
        handler = topics.find(self.topic)
        if handler is None:
            message = f"{self}: no handler of the topic {self.topic!r} in this code"
            raise LookupError(message)
        lane, taken = lane_of(Message, handler, using, int(setting("MAX_LOSSES"))), False
        taking = lane.taking(pk=self.pk)
        for pair in claim(Message, using=using, owner=str(current()), lease=float(setting("LEASE")), taking=taking):
            settled = self.together([pair]) if lane.together else ()
            taken = bool(settled) or attempt(*pair) is Outcome.DONE
        self.refresh_from_db()
        return taken or self.status == SENT

    def retry(self, *, seen: Seen | None = None) -> bool:
        """
        Make a dead or failed message due at once, with a fresh budget. The fence stays as it is.

        With `seen`, only a message that is still as the caller saw it.

        Return whether it was moved: one that is sent, waits or is held is left alone.
        """
        moved = transition(self._row(seen), (DEAD, FAILED), PENDING, attempts=0, losses=0)
        self.refresh_from_db(fields=["status", "due_at", "attempts", "losses", "settled_at", "updated_at"])
        return moved

    def receipts(self) -> list[Receipt]:
        """Return one receipt, of the send; `at` is None while it is still to come. Asks for the attempts' records."""
        handler, entries = topics.find(self.topic), list(self.log.order_by("pk"))
        settled = self.status == SENT
        sent = next((entry for entry in reversed(entries) if settled and entry.outcome == SENT), None)
        return [
            Receipt(
                step=self.topic,
                guarantee=handler.external if handler else "at-least-once",
                at=self.settled_at if settled else None,
                took=(sent.ended_at - sent.started_at).total_seconds() if sent and sent.ended_at else None,
                owner=sent.by if sent else "",
                fence=self.fence if settled else None,
                starts=len(entries),
                key=self.key,
            )
        ]

    def explain(self) -> str:
        """Return one sentence: what the message is doing, why, and what happens next by itself."""
        return explain.explain(self)

    def standstill(self) -> str:
        """Return why no worker may take the message though it is open, or an empty string."""
        using = self._state.db or "default"
        if topics.find(self.topic) is None:
            return _("no handler of the topic %(topic)r is in this code; it waits for code that has one") % {
                "topic": self.topic
            }
        held = pauses.paused(using).get(self.topic)
        if held is not None:
            return _("its topic %(topic)r is paused: %(why)s") % {"topic": self.topic, "why": held}
        first = earlier_in_line(type(self)._base_manager.using(using), self).order_by("ordinal", "pk").first()
        if first is None:
            return ""
        facts = {"key": first.key, "line": self.ordering_key}
        return _("it stands behind %(key)s of the same ordering key %(line)r") % facts

    # What the machinery calls ------------------------------------------------------------------------------------

    def progress(self) -> tuple[int, int]:
        return int(self.status == SENT), 1

    @classmethod
    def staff_decisions(cls) -> tuple[Decision, ...]:
        return of_messages(cls.MACHINE)

    @classmethod
    def contract_columns(cls) -> frozenset[str]:
        return CONTRACT | {"topic", "payload", "ordering_key", "ordinal", "provider_id"}

    @classmethod
    def lanes(cls, using: str) -> Sequence[Lane]:
        """One lane per topic that this code can send and nobody has paused."""
        held, losses = pauses.paused(using), int(setting("MAX_LOSSES"))
        return [lane_of(cls, handler, using, losses) for handler in topics.known() if handler.topic not in held]

    @classmethod
    def maintain(cls, using: str) -> list[str]:
        return super().maintain(using) + reaping.reap_and_report(cls, using)

    @classmethod
    def together(cls, batch: Sequence[tuple[Any, Any]]) -> Collection[Any]:
        """Hand a batch over in one call, and write one receipt for all that were sent."""
        return sending.send_together(batch, topics.find(batch[0][0].topic))

    def advance(self, claim: Claim) -> None:
        """Send the message, and record that it was sent."""
        told = self.__dict__.pop("_verdict", None)
        if told is not None:
            told.conclude()
            return
        handler = topics.find(self.topic)
        if handler is None:
            raise Wait(_RECHECK, f"no handler of the topic {self.topic!r} in this process any more")
        if self.begun_ahead is None or claim.lost:
            claim.check()
        sending.send(self, claim, handler)

    def fail(self, claim: Claim, error: BaseException) -> str:
        """Keep the error on the row and on the attempt's record; release the message, or settle it as failed or dead."""
        if isinstance(error, NotRecorded):
            raise error
        handler = topics.find(self.topic)
        said = in_words(error)
        if isinstance(error, NotConfigured):
            pauses.pause(self.topic, reason=f"not configured: {text_of(error)}", seconds=_RECHECK, using=claim.alias)
            left: dict[str, Any] = {"due_in": _RECHECK, "attempts": max(0, self.attempts - 1), "losses": 0}
            left["last_error"] = clean_text(said)
            sending.close(self, claim, "unconfigured", error, lambda: claim.release(**left))
            return PENDING
        entry = failure(self, step=self.topic, error=error, owner=claim.by, at=clock.read(connections[claim.alias]))
        changes: dict[str, Any] = {"failures": [entry, *self.failures][:FAILURES_KEPT], "losses": 0}
        if isinstance(error, Refused):
            changes["last_error"] = clean_text(f"refused: {text_of(error)}")
            sending.close(self, claim, "refused", error, lambda: claim.settle(FAILED, **changes))
            return FAILED
        if handler is not None and handler.spent(self.attempts):
            changes["last_error"] = clean_text(f"given up after {self.attempts} attempts: {said}")
            sending.close(self, claim, "failed", error, lambda: claim.settle(DEAD, **changes))
            return DEAD
        changes["last_error"] = clean_text(said)
        pause = handler.backoff.delay(self.attempts) if handler and isinstance(error, Exception) else 0.0
        sending.close(self, claim, "failed", error, lambda: claim.release(due_in=pause, **changes))
        return PENDING

    def lost(self, claim: Claim) -> bool:
        """Record that the owner before us vanished. A message whose budget that spent is reaped, and never claimed."""
        name = label_of(claim.lost_owner)
        if not self.log.filter(fence=claim.fence - 1).exists():
            # Claimed, and not begun: it stood behind others in a batch. That is no attempt of this message.
            self.attempts, self.losses = max(1, self.attempts - 1), max(0, self.losses - 1)
            claim.write({"attempts": self.attempts, "losses": self.losses})
            return False
        error = WorkerLost(
            f"{name} vanished with the message in hand (loss {self.losses} in a row); it may have been sent"
        )
        entry = failure(self, step=self.topic, error=error, owner=name, at=clock.read(connections[claim.alias]))
        entry["attempt"] = self.attempts - 1
        self.failures = [entry, *self.failures][:FAILURES_KEPT]
        claim.write({"failures": self.failures, "last_error": f"WorkerLost: {error}"})
        return False

    def _row(self, seen: Seen | None = None) -> RunQuerySet:
        rows = RunQuerySet(type(self), using=self._state.db).filter(pk=self.pk)
        return seen.among(rows) if seen else rows
