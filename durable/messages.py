"""
Messages: runs of one external effect, whose receipt is the row itself, with a record of every attempt.

A message is sent at least once. Its receipt follows the send in a transaction of its own, so a crash between the two
sends it again, under the same key. The record of an attempt is committed before the send begins: one that stays open says
that the message may have gone out.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar

from django.db import connections, models, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from . import clock, explain, pauses, sending, topics
from .attempt import Outcome, attempt
from .conf import setting
from .contract import Claim, Machine, Taking, claim, put_back, reap, transition
from .effects import outside_transaction
from .errors import InsideTransaction, NotConfigured, NotRecorded, Refused, Wait, WorkerLost, in_words, text_of
from .lanes import Lane
from .owner import current, label_of
from .run import CONTRACT, FAILURES_KEPT, Receipt, Run, RunQuerySet, Seen, clean_text, failure, trouble_index
from .staff import Decision, of_messages

__all__ = ["Attempt", "Message"]

PENDING, PROCESSING, SENT, FAILED, DEAD = "pending", "processing", "sent", "failed", "dead"

#: A late success is better news than whatever was written over it, while its fence still matches.
_NOT_SENT = (PROCESSING, PENDING, DEAD, FAILED)

_RECHECK = 60.0  # seconds until a topic that is not configured is tried again
_PAGE = 1_000
_WINDOW = 10_000  # due messages of a topic that are looked through for spent ones; those stay in front


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
        lane, taken = _lane(handler, using, int(setting("MAX_LOSSES"))), False
        taking = lane.taking(pk=self.pk)
        for pair in claim(type(self), using=using, owner=str(current()), lease=float(setting("LEASE")), taking=taking):
            if lane.together:
                self.together([pair])
            taken = attempt(*pair) is Outcome.DONE
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
        first = _earlier_in_line(type(self)._base_manager.using(using), self).order_by("ordinal", "pk").first()
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
        return [_lane(handler, using, losses) for handler in topics.known() if handler.topic not in held]

    @classmethod
    def maintain(cls, using: str) -> list[str]:
        problems = super().maintain(using)
        for handler in topics.known():
            cls._reap(using, handler)
        for topic, why in pauses.paused(using).items():
            problems.append(f"The topic {topic!r} is paused: {why}. Its messages wait.")
        for topic in _open_topics(using):
            if topics.find(topic) is None:
                problems.append(cls._nobody_sends(using, topic))
        return problems

    @classmethod
    def together(cls, batch: Sequence[tuple[Any, Any]]) -> None:
        """Hand a batch over in one call, and write one receipt for all that were sent."""
        sending.send_together(batch, topics.find(batch[0][0].topic), _NOT_SENT)

    def advance(self, claim: Claim) -> None:
        """Send the message, and record that it was sent."""
        told = self.__dict__.pop("_verdict", None)
        if told is not None:
            told.conclude()
            return
        handler = topics.find(self.topic)
        if handler is None:
            raise Wait(_RECHECK, f"no handler of the topic {self.topic!r} in this process any more")
        claim.check()
        sending.send(self, claim, handler, _NOT_SENT)

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

    @classmethod
    def _reap(cls, using: str, handler: topics.Handler) -> None:
        """Settle as dead the messages that nobody holds and whose budget is spent. Their fences stay."""
        rows = cls._base_manager.using(using)
        front = rows.filter(topic=handler.topic, due_at__isnull=False).order_by("due_at").values("pk")[:_WINDOW]
        spent = rows.filter(Taking(ahead=True).condition(cls.MACHINE), _spent(handler, int(setting("MAX_LOSSES"))))
        for message in spent.filter(pk__in=front).defer("payload")[:_PAGE]:
            row, held = rows.filter(pk=message.pk), message.status == PROCESSING
            if held and not message.log.filter(fence=message.fence).exists():
                put_back(row, fence=message.fence, attempts=message.attempts - 1)
                continue
            with transaction.atomic(using=using):
                done = reap(row, fence=message.fence, **cls._obituary(message, using))
                if done:
                    message.log.filter(outcome="").update(outcome="unknown")
            if done:
                sending.tell_reaped(message, using)

    @classmethod
    def _obituary(cls, message: Message, using: str) -> dict[str, Any]:
        if message.status != PROCESSING:
            return {"last_error": f"given up after {message.attempts} attempts: the budget was made smaller"}
        name = label_of(message.owner)
        error = WorkerLost(f"{name} vanished with the message in hand; it may have been sent")
        entry = failure(message, step=message.topic, error=error, owner=name, at=clock.read(connections[using]))
        return {
            "losses": message.losses + 1,
            "failures": [entry, *message.failures][:FAILURES_KEPT],
            "last_error": (
                f"given up after {message.attempts} attempts: the worker was lost, last {name}; it may have been sent"
            ),
        }

    @classmethod
    def _nobody_sends(cls, using: str, topic: str) -> str:
        rows = cls._base_manager.using(using).filter(topic=topic, due_at__isnull=False)
        said = f"nobody will send this: no handler of the topic {topic!r} in this code"
        unmarked = rows.filter(status=PENDING).exclude(last_error=said).values("pk")[:_WINDOW]
        rows.filter(pk__in=list(unmarked.values_list("pk", flat=True)), status=PENDING).update(last_error=said)
        return f"{rows.count()} open message(s) of the topic {topic!r} wait for code that has a handler of it."

    def _row(self, seen: Seen | None = None) -> RunQuerySet:
        rows = RunQuerySet(type(self), using=self._state.db).filter(pk=self.pk)
        return seen.among(rows) if seen else rows


class Attempt(models.Model):
    """One attempt to send a message: committed before it begins, completed when it ends."""

    # Without a constraint in the database: checking it would lock the message's row for every attempt.
    message = models.ForeignKey(
        Message, on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="log", editable=False
    )
    fence = models.BigIntegerField(editable=False)
    number = models.PositiveIntegerField(editable=False)
    owner = models.CharField(max_length=200, editable=False)
    started_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True, editable=False)
    outcome = models.CharField(max_length=16, blank=True, default="", editable=False)
    code = models.CharField(max_length=50, blank=True, default="", editable=False)
    error = models.TextField(blank=True, default="", editable=False)
    provider_id = models.CharField(max_length=200, blank=True, default="", editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["message", "fence"], name="durable_attempt_claim")]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.message_id}"

    @property
    def by(self) -> str:
        """The owner in the short form that people read: host/pid."""
        return self.owner.partition(" ")[0]


def _earlier_in_line(rows: Any, of: Any) -> Any:
    """Return the open messages that must be sent before one: those of its ordering key that were posted earlier."""
    topic, line, ordinal, pk = of.topic, of.ordering_key, of.ordinal, of.pk
    before = Q(ordinal__lt=ordinal) | Q(ordinal=ordinal, pk__lt=pk)
    return rows.filter(before, topic=topic, ordering_key=line, due_at__isnull=False).exclude(ordering_key="")


class _Outer:
    """The message that a sub-select is asked for."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.ordering_key, self.ordinal, self.pk = OuterRef("ordering_key"), OuterRef("ordinal"), OuterRef("pk")


def _spent(handler: topics.Handler, losses: int) -> Q:
    """Return what is true of a message that must not be claimed again. A lost worker is an attempt like any other."""
    if handler.attempts is not None:
        return Q(attempts__gte=handler.attempts)
    return Q(status=PROCESSING, losses__gte=losses - 1)


@functools.lru_cache(maxsize=1024)
def _lane(handler: topics.Handler, using: str, losses: int) -> Lane:
    first: Any = Q(ordering_key="") | ~Exists(
        _earlier_in_line(Message._base_manager.using(using), _Outer(handler.topic))
    )
    admission = None
    if handler.concurrency is not None:
        admission = functools.partial(pauses.admission, Message, handler.topic, handler.concurrency, using)
    return Lane(
        name=handler.topic,
        within=(("topic", handler.topic),),
        only=~_spent(handler, losses) & first,
        most=handler.batch or (1 if handler.concurrency is not None else None),
        together=handler.batch is not None,
        yields=True,
        admission=admission,
    )


def _open_topics(using: str) -> list[str]:
    """Return the topics that open messages have, with one look into the index for each."""
    rows, found = Message._base_manager.using(using).filter(due_at__isnull=False), [""]
    while True:
        after = rows.filter(topic__gt=found[-1]).order_by("topic").values_list("topic", flat=True).first()
        if after is None:
            return found[1:]
        found.append(after)
