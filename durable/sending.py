"""
Sending: the record of an attempt before, the call, and the receipt after, whatever the database does meanwhile.

Between a send that succeeded and its receipt nothing may lead to a second send but the end of this process: while the
database is away the recording is tried again, and a failure to record is never taken for a failure to send.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import Error, InterfaceError, OperationalError, connections, transaction

from . import cursors, heartbeat, pauses, signals
from .clock import now_sql
from .conf import setting
from .contract import Claim, write_together
from .effects import persistently, timed
from .errors import LostLease, NotRecorded, RetryAfter, Wait, text_of
from .run import clean_text, storable

__all__ = ["close", "send", "send_together", "tell_reaped"]

logger = logging.getLogger("durable")

_SENT = "sent"
_ONCE_MORE = (0.05, 0.2, 1.0)  # seconds between tries to record, the last one repeated


def send(message: Any, claim: Claim, handler: Any, states: tuple[str, ...]) -> None:
    """Record that an attempt begins, call the handler, and settle the message. Raises what the handler raised."""
    # Nothing is sent yet: a database that is away for a moment is nobody's failure, and costs no attempt.
    if persistently(claim, lambda: _begin_or_settle(message, claim)):
        return
    try:
        with timed(claim, _timeout(handler), in_transaction=False):
            result = handler.send(message)
    except Wait as wait:
        _wait(message, claim, wait)
        raise
    if not _record([(message, claim)], [_id_of(result)], states):
        raise claim.lost_lease()


def send_together(batch: Sequence[tuple[Any, Claim]], handler: Any, states: tuple[str, ...]) -> None:
    """
    Call a batch handler once, and settle all that were sent with one statement.

    Each message keeps a verdict, which `advance` then turns into how its own attempt ended. Raises nothing.
    """
    going = list(batch)
    for _, claim in batch:
        heartbeat.hold(claim)
    try:
        going = _ready_together(batch)
        with contextlib.ExitStack() as deadlines:
            for _, claim in going:
                deadlines.enter_context(timed(claim, _timeout(handler), in_transaction=False))
            told = _by_key(handler.send([message for message, _ in going]) if going else None)
        _share_out(going, told, states)
    except BaseException as error:  # noqa: BLE001 - kept for each message, whose own attempt raises it
        for message, _ in going:
            message.__dict__.setdefault("_verdict", _Verdict(error))
    finally:
        for message, claim in batch:
            heartbeat.let_go(claim)
            if "_verdict" not in message.__dict__:
                message._verdict = _Verdict(claim.lost_lease())


def _ready_together(batch: Sequence[tuple[Any, Claim]]) -> list[tuple[Any, Claim]]:
    """Return the messages to hand over: those that are still ours, not sent before, and recorded as begun."""
    for message, claim in batch:
        if claim.lost_owner is not None:
            persistently(claim, functools.partial(message.lost, claim))
            claim.lost_owner = None
    one = batch[0][1]  # whose lease bounds how long a database that is away is waited for
    known = persistently(one, lambda: _settled_from_the_record(list(batch)))
    for message, _ in batch:
        if message.pk in known:
            message._verdict = _Verdict(None)
    return persistently(one, lambda: _begin_together([pair for pair in batch if pair[0].pk not in known]))


def close(message: Any, claim: Claim, outcome: str, error: BaseException, write: Callable[[], Any]) -> None:
    """Write how the message goes on, and complete the attempt's record, in one transaction."""
    said = {"outcome": outcome, "code": _code(error), "error": clean_text(text_of(error), 4_000)}
    try:
        with transaction.atomic(using=claim.alias):
            write()
            _complete(type(message), claim.alias, [{**said, "pk": message.pk, "fence": claim.fence}])
    except LostLease:
        # The message is somebody else's; what befell our attempt is still true.
        _complete(type(message), claim.alias, [{**said, "pk": message.pk, "fence": claim.fence}])
        raise


def tell_reaped(message: Any, using: str) -> None:
    """Tell whoever listens that a message was given up without anybody holding it."""
    gone = Claim(type(message), using=using, pk=message.pk, fence=message.fence, owner=message.owner, lease=0)
    signals.send(signals.run_settled, message, status=message.MACHINE.dead, claim=gone)


class _Verdict:
    """What a call for many messages came to for one of them."""

    def __init__(self, error: BaseException | None) -> None:
        self._error = error

    def conclude(self) -> None:
        if self._error is not None:
            raise self._error


def _share_out(going: list[tuple[Any, Claim]], told: Mapping[str, Any], states: tuple[str, ...]) -> None:
    sent = [pair for pair in going if not isinstance(told.get(pair[0].key), BaseException)]
    for message, _ in going:
        if isinstance(told.get(message.key), BaseException):
            message._verdict = _Verdict(told[message.key])
    try:
        ours = _record(sent, [_id_of(told.get(message.key)) for message, _ in sent], states) if sent else set()
        for message, claim in sent:
            message._verdict = _Verdict(None if message.pk in ours else claim.lost_lease())
    except NotRecorded as error:
        for message, _ in sent:
            message._verdict = _Verdict(error)
    for message, claim in going:
        if isinstance(told.get(message.key), Wait):
            _wait(message, claim, told[message.key])


def _by_key(told: Any) -> Mapping[str, Any]:
    if told is None:
        return {}
    if isinstance(told, Mapping):
        return told
    # The messages are sent; an answer nobody can read must not send them again.
    logger.warning("a batch handler returned %s; it should return a dictionary by key, or nothing", type(told).__name__)
    return {}


# The record of an attempt ----------------------------------------------------------------------------------------------


def _settled_from_the_record(pairs: list[tuple[Any, Claim]]) -> set[Any]:
    """
    Settle those messages that an owner before us has sent, but could not settle as we had taken them by then.

    Its record says so, and nothing is sent a second time. Return their primary keys.
    """
    again = {message.pk: (message, claim) for message, claim in pairs if claim.fence > 1}
    if not again:
        return set()
    log = pairs[0][0]._meta.get_field("log").related_model._base_manager.using(pairs[0][1].alias)
    sent = dict(log.filter(message__in=list(again), outcome=_SENT).values_list("message_id", "provider_id"))
    for pk, provider_id in sent.items():
        again[pk][1].settle(_SENT, provider_id=provider_id, last_error="")
    return set(sent)


def _begin_or_settle(message: Any, claim: Claim) -> bool:
    """Record that an attempt begins, and return False; or return True where an owner before us has sent it already."""
    if _settled_from_the_record([(message, claim)]):
        return True
    _begin(message, claim)
    return False


def _begin(message: Any, claim: Claim) -> None:
    """
    Commit a record of the attempt, if the message is still ours and its lease alive.

    Raises:
        LostLease: it is not; nothing may be sent.
    """
    if not _begin_together([(message, claim)]) and not (claim.renew() and _begin_together([(message, claim)])):
        raise claim.lost_lease()


def _begin_together(pairs: list[tuple[Any, Claim]]) -> list[tuple[Any, Claim]]:
    """Commit a record for each attempt whose message is still ours and its lease alive. Return those."""
    if not pairs:
        return []
    model, alias = type(pairs[0][0]), pairs[0][1].alias
    connection, fields = connections[alias], model._meta
    record = fields.get_field("log").related_model._meta
    pk = fields.pk.get_db_prep_value
    again = [pk(message.pk, connection) for message, claim in pairs if claim.fence > 1]
    mine = " OR ".join(["(id = %s AND fence = %s)"] * len(pairs))
    params: list[Any] = [pairs[0][1].owner, pairs[0][0].MACHINE.claimed]
    for message, claim in pairs:
        params += [pk(message.pk, connection), claim.fence]
    if again:  # whoever held these before left no word of how it went
        cursors.write(
            connection,
            f"UPDATE {record.db_table} SET outcome = 'unknown' WHERE outcome = ''"  # noqa: S608
            f" AND message_id IN ({', '.join(['%s'] * len(again))})",
            again,
        )
    begun_here = cursors.write(
        connection,
        f"INSERT INTO {record.db_table} (message_id, fence, number, owner, started_at, outcome, code, error, provider_id)"  # noqa: S608
        f" SELECT id, fence, attempts, %s, {now_sql(connection.vendor)}, '', '', '', '' FROM {fields.db_table}"
        f" WHERE status = %s AND lease_expires_at > {now_sql(connection.vendor)} AND ({mine})"
        # Begun before under this very claim, and no word of its end: the answer to this statement was lost.
        f" ON CONFLICT (message_id, fence) DO UPDATE SET outcome = '' WHERE {record.db_table}.outcome IN ('', 'unknown')",
        params,
    )
    if begun_here == len(pairs):
        return pairs
    if len(pairs) == 1:
        return []
    log = record.model._base_manager.using(alias)
    begun = set(log.filter(message__in=[m.pk for m, _ in pairs], outcome="").values_list("message_id", "fence"))
    return [(message, claim) for message, claim in pairs if (message.pk, claim.fence) in begun]


def _complete(model: Any, alias: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write how attempts ended. Only the process that began one does; whether it still owns the message changes nothing."""
    connection = connections[alias]
    said = [_completion(model, connection, row) for row in rows]
    with connection.cursor() as cursor:
        if len(rows) > 1 and connection.vendor == "postgresql":
            table, now = model._meta.get_field("log").related_model._meta.db_table, now_sql(connection.vendor)
            cursor.execute(  # one statement for all of them
                "WITH said (outcome, code, error, provider_id, message_id, fence) AS"  # noqa: S608
                f" (VALUES {', '.join(['(%s::text, %s::text, %s::text, %s::text, %s::uuid, %s::bigint)'] * len(rows))})"
                f" UPDATE {table} AS log SET ended_at = {now}, outcome = said.outcome, code = said.code,"
                " error = said.error, provider_id = said.provider_id FROM said"
                " WHERE log.message_id = said.message_id AND log.fence = said.fence AND log.outcome IN ('', 'unknown')",
                [value for _, row in said for value in row],
            )
            return
        for sql, row in said:
            cursor.execute(sql, row)


def _completion(model: Any, connection: Any, row: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that writes how one attempt ended, and its parameters."""
    record, pk = model._meta.get_field("log").related_model._meta, model._meta.pk
    said = (row.get(name, "") for name in ("outcome", "code", "error", "provider_id"))
    sql = (
        f"UPDATE {record.db_table} SET ended_at = {now_sql(connection.vendor)},"  # noqa: S608
        " outcome = %s, code = %s, error = %s, provider_id = %s"
        " WHERE message_id = %s AND fence = %s AND outcome IN ('', 'unknown')"
    )
    return sql, (*said, pk.get_db_prep_value(row["pk"], connection), row["fence"])


# The receipt ----------------------------------------------------------------------------------------------------------


def _record(pairs: list[tuple[Any, Claim]], ids: list[str], states: tuple[str, ...]) -> set[Any]:
    """
    Settle messages that were sent, with their attempts' records, at once; again until the database has it.

    Return the primary keys of those that were still ours.

    Raises:
        NotRecorded: this process must end, or the database refuses the receipt itself.
    """
    alias, tries, give_up = pairs[0][1].alias, 0, None
    while True:
        try:
            ours = _settle(pairs, ids, states)
        except Error as error:
            if connections[alias].in_atomic_block:
                raise  # a test's own transaction, which is broken now
            connections[alias].close()
            if pairs[0][1].should_stop() or not isinstance(error, OperationalError | InterfaceError):
                give_up = give_up or time.monotonic() + pairs[0][1].lease
            if give_up is not None and time.monotonic() > give_up:
                message = f"{pairs[0][0]} was sent, and that could not be recorded: {error}"
                raise NotRecorded(message) from error
            if tries in (0, 10, 100, 1000):
                logger.warning(
                    "sent, recording again topic=%s pk=%s error=%s", pairs[0][0].topic, pairs[0][1].pk, error
                )
            time.sleep(_ONCE_MORE[min(tries, len(_ONCE_MORE) - 1)])
            tries += 1
            continue
        # A commit whose answer was lost left our own receipts; then nothing of ours was open any more.
        return ours or (_already_recorded(pairs) if tries else set())


def _settle(pairs: list[tuple[Any, Claim]], ids: list[str], states: tuple[str, ...]) -> set[Any]:
    """Write the receipts and the records: of one message in one statement where the database can, else in a transaction."""
    alias, model = pairs[0][1].alias, type(pairs[0][0])
    claims = [claim for _, claim in pairs]
    sent = {**claims[0].settling(_SENT), "last_error": ""}
    done = [
        {"outcome": _SENT, "pk": claim.pk, "fence": claim.fence, "provider_id": name}
        for claim, name in zip(claims, ids, strict=True)
    ]
    if len(pairs) == 1 and connections[alias].vendor == "postgresql":
        record = _completion(model, connections[alias], done[0])
        ours = claims[0].write_beside({**sent, "provider_id": ids[0]}, *record, states=states)
        return {claims[0].pk} if ours else set()
    with transaction.atomic(using=alias):
        written = write_together(claims, sent, {"provider_id": ids}, states=states)
        _complete(model, alias, done)
    return written


def _already_recorded(pairs: list[tuple[Any, Claim]]) -> set[Any]:
    rows = type(pairs[0][0])._base_manager.using(pairs[0][1].alias)
    held = {(claim.pk, claim.fence) for _, claim in pairs}
    found = rows.filter(pk__in=[pk for pk, _ in held], status=_SENT).values_list("pk", "fence")
    return {pk for pk, fence in found if (pk, fence) in held}


def _wait(message: Any, claim: Claim, wait: Wait) -> None:
    _complete(
        type(message), claim.alias,
        [{"outcome": "later", "pk": message.pk, "fence": claim.fence, "error": clean_text(wait.reason, 4_000)}],
    )  # fmt: skip
    if isinstance(wait, RetryAfter) and wait.whole_topic:
        pauses.pause(message.topic, reason=wait.reason, seconds=wait.seconds, using=claim.alias)


def _timeout(handler: Any) -> float:
    return float(handler.timeout if handler.timeout is not None else setting("STEP_TIMEOUT"))


def _id_of(result: Any) -> str:
    if result is None:
        return ""
    try:
        return storable(str(result), 200)[:200]
    except Exception:  # noqa: BLE001 - sent is sent, whatever the handler's answer does when it is printed
        return ""


def _code(error: BaseException) -> str:
    code = getattr(error, "code", None) or getattr(error, "smtp_code", None)
    return storable(str(code if isinstance(code, str | int) else type(error).__name__), 50)[:50]
