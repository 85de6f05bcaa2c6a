"""
MessageLog: the record of every attempt to send a message: `message.log`, a row of the model `Attempt` each.

One is committed before its send begins, and completed when it ends. One that stays open says that the message may have
gone out.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from django.db import connections, models
from django.db.models.functions import Now

from . import cursors
from .clock import now_sql
from .contract import Claim

__all__ = ["SENT", "Attempt", "begin", "beginning", "complete", "completion", "completion_of_all", "providers_of_sent"]

SENT = "sent"
Pair = tuple[Any, Claim]  # a message and the claim of it
Statement = tuple[str, Sequence[Any]]  # its text and its parameters


class Attempt(models.Model):
    """One attempt to send a message: committed before it begins, completed when it ends."""

    # Without a constraint in the database: checking it would lock the message's row for every attempt.
    message = models.ForeignKey(
        "durable.Message",
        on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="log", editable=False,
    )  # fmt: skip
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


def begin(pairs: Sequence[Pair]) -> list[Pair]:
    """Commit a record for each attempt whose message is still ours and its lease alive. Return those."""
    if not pairs:
        return []
    alias = pairs[0][1].alias
    connection = connections[alias]
    again = [_key(message, connection) for message, claim in pairs if claim.fence > 1]
    if again:  # whoever held these before left no word of how it went
        cursors.write(
            connection,
            f"UPDATE {Attempt._meta.db_table} SET outcome = 'unknown' WHERE outcome = ''"  # noqa: S608
            f" AND message_id IN ({', '.join(['%s'] * len(again))})",
            again,
        )
    if len(pairs) == 1:
        return list(pairs) if cursors.write(connection, *beginning(*pairs[0])) else []
    if cursors.write(connection, *_beginning_of_all(pairs, connection)) == len(pairs):
        return list(pairs)
    log = Attempt._base_manager.using(alias)
    begun = set(log.filter(message__in=[m.pk for m, _ in pairs], outcome="").values_list("message_id", "fence"))
    return [(message, claim) for message, claim in pairs if (message.pk, claim.fence) in begun]


def beginning(message: Any, claim: Claim) -> Statement:
    """Return the statement that records that an attempt begins: one row, or none where the message is not ours any more."""
    connection = connections[claim.alias]
    sql = _begin_sql(type(message), connection.vendor, "", "id = %s AND fence = %s")
    return sql, (claim.owner, _key(message, connection), claim.fence)


def _beginning_of_all(pairs: Sequence[Pair], connection: Any) -> Statement:
    model, owner = type(pairs[0][0]), pairs[0][1].owner
    if connection.vendor == "postgresql":
        mine = " JOIN UNNEST(%s::uuid[], %s::bigint[]) AS mine (id, fence) USING (id, fence)"
        params: list[Any] = [owner, [message.pk for message, _ in pairs], [claim.fence for _, claim in pairs]]
        return _begin_sql(model, connection.vendor, mine, "TRUE"), params
    either = " OR ".join(["(id = %s AND fence = %s)"] * len(pairs))
    held = [value for message, claim in pairs for value in (_key(message, connection), claim.fence)]
    return _begin_sql(model, connection.vendor, "", f"({either})"), [owner, *held]


@functools.lru_cache(maxsize=256)
def _begin_sql(model: Any, vendor: str, joined: str, mine: str) -> str:
    table, now = Attempt._meta.db_table, now_sql(vendor)
    return (
        f"INSERT INTO {table} (message_id, fence, number, owner, started_at, outcome, code, error, provider_id)"  # noqa: S608
        f" SELECT id, fence, attempts, %s, {now}, '', '', '', '' FROM {model._meta.db_table}{joined}"
        f" WHERE status = '{model.MACHINE.claimed}' AND lease_expires_at > {now} AND {mine}"
        # Begun before under this very claim, and no word of its end: the answer to this statement was lost.
        f" ON CONFLICT (message_id, fence) DO UPDATE SET outcome = '' WHERE {table}.outcome IN ('', 'unknown')"
    )


def complete(message: Any, claim: Claim, outcome: str, **said: str) -> None:
    """Write how an attempt ended. Only the process that began it does; whether it still owns the message changes nothing."""
    cursors.write(connections[claim.alias], *completion(message, claim, outcome, **said))


def completion(
    message: Any, claim: Claim, outcome: str, *, code: str = "", error: str = "", provider_id: str = ""
) -> Statement:
    """Return the statement that writes how an attempt ended."""
    connection = connections[claim.alias]
    said = (outcome, code, error, provider_id)
    return _complete_sql(connection.vendor), (*said, _key(message, connection), claim.fence)


@functools.cache
def _complete_sql(vendor: str) -> str:
    return (
        f"UPDATE {Attempt._meta.db_table} SET ended_at = {now_sql(vendor)},"  # noqa: S608
        " outcome = %s, code = %s, error = %s, provider_id = %s"
        " WHERE message_id = %s AND fence = %s AND outcome IN ('', 'unknown')"
    )


@functools.cache
def completion_of_all() -> str:
    """Return PostgreSQL's statement for many attempts that ended well: it reads their messages in `mine`, with `provider_id`."""
    return (
        f"UPDATE {Attempt._meta.db_table} AS log SET ended_at = {now_sql('postgresql')}, outcome = '{SENT}',"  # noqa: S608
        " code = '', error = '', provider_id = mine.provider_id FROM mine"
        " WHERE log.message_id = mine.id AND log.fence = mine.fence AND log.outcome IN ('', 'unknown')"
    )


def providers_of_sent(pairs: Sequence[Pair]) -> dict[Any, str]:
    """
    Return the provider's id for each message that an owner before ours has sent, as its record says.

    It could not settle the message, because we had taken it by then. Asks nothing where no message was held before.
    """
    again = [message.pk for message, claim in pairs if claim.fence > 1]
    if not again:
        return {}
    log = Attempt._base_manager.using(pairs[0][1].alias)
    return dict(log.filter(message__in=again, outcome=SENT).values_list("message_id", "provider_id"))


def _key(message: Any, connection: Any) -> Any:
    return type(message)._meta.pk.get_db_prep_value(message.pk, connection)
