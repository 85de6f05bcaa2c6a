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
from .contract import Claim, unweighed

__all__ = ["SENT", "Attempt", "begin", "beginning", "complete", "completion", "completion_of_all", "providers_of_sent"]

SENT = "sent"
Pair = tuple[Any, Claim]  # a message and the claim of it
Statement = tuple[str, Sequence[Any]]  # its text and its parameters

_OPEN = "{} IN ('', 'unknown')"  # of an outcome: nobody wrote down how the attempt ended


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
    again = [claim.key(connection) for _, claim in pairs if claim.fence > 1]
    if again:  # whoever held these before left no word of how it went
        cursors.write(
            connection,
            f"UPDATE {Attempt._meta.db_table} SET outcome = 'unknown' WHERE outcome = ''"  # noqa: S608
            f" AND message_id IN ({', '.join(['%s'] * len(again))})",
            again,
        )
    begun_here = beginning(pairs[0][1], connection) if len(pairs) == 1 else _beginning_of_all(pairs, connection)
    if cursors.write(connection, *begun_here, often=True) == len(pairs):
        return list(pairs)
    if len(pairs) == 1:
        return []
    log = Attempt._base_manager.using(alias)
    begun = set(log.filter(message__in=[m.pk for m, _ in pairs], outcome="").values_list("message_id", "fence"))
    return [(message, claim) for message, claim in pairs if (message.pk, claim.fence) in begun]


def beginning(claim: Claim, connection: Any) -> Statement:
    """Return the statement that records that an attempt begins: one row, or none where the message is not ours any more."""
    sql = _begin_sql(claim.model, connection.vendor, "", "id = %s AND fence = %s")
    return sql, (claim.owner, claim.key(connection), claim.fence)


def _beginning_of_all(pairs: Sequence[Pair], connection: Any) -> Statement:
    one, claims = pairs[0][1], [claim for _, claim in pairs]
    if connection.vendor == "postgresql":
        # From sub-selects: see `write_together`.
        mine = " JOIN UNNEST((SELECT %s::uuid[]), (SELECT %s::bigint[])) AS mine (id, fence) USING (id, fence)"
        lists = ([claim.pk for claim in claims], [claim.fence for claim in claims])
        return _begin_sql(one.model, connection.vendor, mine, ""), (one.owner, *map(cursors.as_array, lists))
    either = " OR ".join(["(id = %s AND fence = %s)"] * len(pairs))
    held = [value for claim in claims for value in (claim.key(connection), claim.fence)]
    return _begin_sql(one.model, connection.vendor, "", f"({either})"), (one.owner, *held)


@functools.lru_cache(maxsize=256)
def _begin_sql(model: Any, vendor: str, joined: str, mine: str) -> str:
    table, now = Attempt._meta.db_table, now_sql(vendor)
    held = f"status = '{model.MACHINE.claimed}' AND lease_expires_at > {now}"
    return (
        f"INSERT INTO {table} (message_id, fence, number, owner, started_at, outcome, code, error, provider_id)"  # noqa: S608
        f" SELECT id, fence, attempts, %s, {now}, '', '', '', '' FROM {model._meta.db_table}{joined}"
        f" WHERE {f'{held} AND {mine}' if mine else unweighed(held)}"
        # Begun before under this very claim, and no word of its end: the answer to this statement was lost.
        f" ON CONFLICT (message_id, fence) DO UPDATE SET outcome = '' WHERE {_OPEN.format(f'{table}.outcome')}"
    )


def complete(claim: Claim, outcome: str, *, code: str = "", error: str = "", provider_id: str = "") -> None:
    """Write how an attempt ended. Only the process that began it does; whether it still owns the message changes nothing."""
    connection = connections[claim.alias]
    said = (outcome, code, error, provider_id)
    cursors.write(connection, _complete_sql(connection.vendor), (*said, claim.key(connection), claim.fence))


@functools.cache
def _complete_sql(vendor: str) -> str:
    return (
        f"UPDATE {Attempt._meta.db_table} SET ended_at = {now_sql(vendor)},"  # noqa: S608
        " outcome = %s, code = %s, error = %s, provider_id = %s"
        f" WHERE message_id = %s AND fence = %s AND {_OPEN.format('outcome')}"
    )


def completion(claim: Claim, connection: Any, provider_id: str) -> Statement:
    """Return PostgreSQL's statement that an attempt ended well."""
    return _completion_sql(), (provider_id, claim.key(connection), claim.fence)


@functools.cache
def _completion_sql() -> str:
    return (
        f"UPDATE {Attempt._meta.db_table} SET ended_at = {now_sql('postgresql')}, outcome = '{SENT}',"  # noqa: S608
        " code = '', error = '', provider_id = %s"
        f" WHERE message_id = %s AND fence = %s AND {_OPEN.format('outcome')}"
    )


@functools.cache
def completion_of_all() -> str:
    """Return PostgreSQL's statement that many attempts ended well: it reads their messages, and `provider_id`, in `mine`."""
    return (
        f"UPDATE {Attempt._meta.db_table} AS log SET ended_at = {now_sql('postgresql')}, outcome = '{SENT}',"  # noqa: S608
        " code = '', error = '', provider_id = mine.provider_id FROM mine"
        f" WHERE log.message_id = mine.id AND log.fence = mine.fence AND {unweighed(_OPEN.format('log.outcome'))}"
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
