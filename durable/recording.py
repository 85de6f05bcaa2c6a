"""
Recording: the receipt of messages that were sent, tried until the database has it.

Between a send that succeeded and its receipt nothing may lead to a second send but the end of this process: while the
database is away the recording is tried again, and a failure to record is never taken for a failure to send.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from django.db import Error, InterfaceError, OperationalError, connections, transaction

from .contract import Claim, write_together
from .errors import NotRecorded
from .message_log import SENT, Pair, begin, beginning, complete, completion, completion_of_all

__all__ = ["NOT_SENT", "record"]

logger = logging.getLogger("durable")

#: A late success is better news than whatever was written over it, while its fence still matches.
NOT_SENT = ("processing", "pending", "dead", "failed")

_ONCE_MORE = (0.05, 0.2, 1.0)  # seconds between tries to record, the last one repeated


def record(pairs: Sequence[Pair], ids: Sequence[str], following: Pair | None = None) -> set[Any]:
    """
    Settle messages that were sent, with their attempts' records, at once; again until the database has it.

    Args:
        pairs: messages of one alias, each with the claim under which it was sent.
        ids: the provider's id of each.
        following: a message whose attempt begins right after this one: the same statement, and so the same commit, records
            that, and its `begun_ahead` tells when. Where nothing was recorded of it, it is as before.

    Returns:
        The primary keys of those that were still ours.

    Raises:
        NotRecorded: this process must end, or the database refuses the receipt itself.
    """
    (one, claim), tries, give_up = pairs[0], 0, None
    while True:
        try:
            ours = _settle(pairs, ids, following)
        except Error as error:
            following = None
            if connections[claim.alias].in_atomic_block:
                raise  # a test's own transaction, which is broken now
            connections[claim.alias].close()
            if claim.should_stop() or not isinstance(error, OperationalError | InterfaceError):
                give_up = give_up or time.monotonic() + claim.lease
            if give_up is not None and time.monotonic() > give_up:
                message = f"{one} was sent, and that could not be recorded: {error}"
                raise NotRecorded(message) from error
            if tries in (0, 10, 100, 1000):
                logger.warning("sent, recording again topic=%s pk=%s error=%s", one.topic, claim.pk, error)
            time.sleep(_ONCE_MORE[min(tries, len(_ONCE_MORE) - 1)])
            tries += 1
            continue
        # A commit whose answer was lost left our own receipts; then nothing of ours was open any more.
        return ours or (_already_recorded(pairs) if tries else set())


def _settle(pairs: Sequence[Pair], ids: Sequence[str], following: Pair | None) -> set[Any]:
    """Write the receipts and the records: in one statement where the database can, else in a transaction."""
    claims, connection = [claim for _, claim in pairs], connections[pairs[0][1].alias]
    sent = {**claims[0].settling(SENT), "last_error": ""}
    if connection.vendor == "postgresql":
        if len(pairs) == 1:
            return _settle_one(claims[0], {**sent, "provider_id": ids[0]}, following, connection)
        return write_together(claims, sent, {"provider_id": ids}, beside=completion_of_all(), states=NOT_SENT)
    with transaction.atomic(using=connection.alias):
        written = write_together(claims, sent, {"provider_id": ids}, states=NOT_SENT)
        for claim, provider_id in zip(claims, ids, strict=True):
            complete(claim, SENT, provider_id=provider_id)
        begun = following is not None and bool(begin([following]))
    _is_begun(following, begun)
    return written


def _settle_one(claim: Claim, sent: dict[str, Any], following: Pair | None, connection: Any) -> set[Any]:
    its_record = completion(claim, connection, sent["provider_id"])
    begins = None if following is None else beginning(following[1], connection)
    ours, begun = claim.write_beside(connection, sent, its_record, begins, states=NOT_SENT)
    _is_begun(following, begun)
    return {claim.pk} if ours else set()


def _is_begun(following: Pair | None, begun: bool) -> None:
    if following is not None and begun:
        following[0].begun_ahead = time.monotonic()


def _already_recorded(pairs: Sequence[Pair]) -> set[Any]:
    rows = type(pairs[0][0])._base_manager.using(pairs[0][1].alias)
    held = {(claim.pk, claim.fence) for _, claim in pairs}
    found = rows.filter(pk__in=[pk for pk, _ in held], status=SENT).values_list("pk", "fence")
    return {pk for pk, fence in found if (pk, fence) in held}
