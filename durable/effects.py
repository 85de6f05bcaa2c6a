"""
Effects: how a receipt is committed, whatever the database does meanwhile.

One function for every shape. A transaction that the database itself undid (a deadlock, a lost connection) is begun again:
nothing happened, so nothing is to be recorded as failed. A COMMIT whose answer was lost is settled by reading the receipt.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import random
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from django.db import Error, InterfaceError, OperationalError, connections

from .chain import Chain
from .contract import Claim
from .errors import DurableError, LostLease, StepTimeout, text_of
from .patience import patience
from .prepared import NameForgotten

__all__ = [
    "commit", "mend", "outside_transaction", "persistently", "timed", "timed_together", "undone_by_the_database",
]  # fmt: skip

logger = logging.getLogger("durable")
T = TypeVar("T")

#: SQLSTATE of a serialization failure and of a deadlock (PostgreSQL's documentation, appendix A).
_ROLLED_BACK_BY_THE_DATABASE = {"40001", "40P01"}
_INERROR = 3  # libpq's PQTRANS_INERROR
_CANCEL_TIMEOUT = 2.0  # seconds to reach the server with a cancel request


def commit(claim: Claim, column: str | Callable[[], bool], work: Callable[[], T], chain: Chain | None = None) -> T:
    """
    Do the work in one transaction that writes the receipt in that column first. Return what the work returned.

    The work calls `claim.write(…, unless=column)` before anything else: that takes the row's lock and proves ownership.
    It may be called again when the database undid the transaction; what it did in other places stays done. Where the
    receipt is no column, a function says instead whether ours is there. With a chain the receipt may be written when the
    work begins: `chain.is_begun` says so.

    Raises:
        LostLease: the run has a newer owner; nothing was written.
        Exception: whatever the work raised; nothing was written.
    """
    transactions = Chain(connections[claim.alias]) if chain is None else chain
    connection = transactions.connection
    wrote: Callable[[], bool] = column if callable(column) else functools.partial(claim.wrote, column)
    give_up = None
    finished: list[T] = []
    for tries in range(1_000_000):
        raw = None
        try:
            with transactions:
                raw = connection.connection
                result = work()
                _refuse_broken(connection)
                finished = [result]
            return result
        except LostLease:
            # Our own COMMIT, believed lost, may have reached the server after all: then the receipt is there.
            if finished and wrote():
                claim.lost = False  # by our own hand: the fence is still ours
                return finished[0]
            raise
        except Exception as error:
            if claim.timed_out:
                message = f"the step outlived its timeout; its transaction was rolled back ({_first_line(error)})"
                raise StepTimeout(message) from error
            if finished and bool(persistently(claim, wrote)):
                logger.exception("after commit kind=%s pk=%s receipt=%s", claim.model._meta.label, claim.pk, column)
                return finished[0]
            if not undone_by_the_database(error, connection, raw):
                raise
            give_up = give_up or time.monotonic() + claim.lease
            if time.monotonic() > give_up:
                raise
            claim.check()
            time.sleep(min(1.0, 0.005 * 2 ** min(tries, 10)) * random.uniform(0.5, 1.0))  # noqa: S311
    raise AssertionError  # pragma: no cover - the loop ends by returning or raising


def persistently(claim: Claim, work: Callable[[], T]) -> T:
    """
    Read or write what repeating does not change, again if the connection is gone, for as long as a lease.

    For what the machinery itself asks between steps: a database that restarts meanwhile is nobody's failure, and others
    would have to wait for the lease.
    """
    give_up, connection = time.monotonic() + claim.lease, connections[claim.alias]
    while True:
        try:
            with patience(claim.alias, claim.lease):
                mend(connection)
                return work()
        except (OperationalError, InterfaceError):
            if connection.in_atomic_block or time.monotonic() > give_up:
                raise
            connection.close()
            time.sleep(0.2)


class timed:  # noqa: N801 - used as a `with` block's verb, as contextlib's own are
    """
    Give the step in hand a deadline. After it the lease is not renewed, and an open transaction is cut off.

    A hung external call cannot be ended from outside; its run becomes claimable, and its late receipt matches no row.

    Args:
        claim: of the run.
        seconds: how long the step may take.
        transaction_on: this thread's connection, where the step is a transaction on that.
    """

    __slots__ = ("_claim", "_connection", "_seconds")

    def __init__(self, claim: Claim, seconds: float, *, transaction_on: Any = None) -> None:
        self._claim, self._seconds, self._connection = claim, seconds, transaction_on

    def __enter__(self) -> None:
        if self._connection is not None:
            self._claim.cut_off = _cutter(self._connection)
        self._claim.deadline = time.monotonic() + self._seconds

    def __exit__(self, *_: object) -> None:
        claim = self._claim
        claim.deadline = claim.cut_off = None
        # A late step that came back is not the next step's lateness; whether we still own the run, the fence tells.
        claim.timed_out = False


@contextlib.contextmanager
def timed_together(claims: Sequence[Claim], seconds: float) -> Iterator[None]:
    """Give one call, made for all of them, a deadline. As `timed`, for what is done outside any transaction."""
    deadline = time.monotonic() + seconds
    for claim in claims:
        claim.deadline = deadline
    try:
        yield
    finally:
        for claim in claims:
            claim.deadline, claim.timed_out = None, False


def outside_transaction(using: str) -> bool:
    """Return whether a receipt may be committed on that alias: no transaction is open, but a test case's own."""
    blocks = connections[using].atomic_blocks
    return not blocks or blocks[-1]._from_testcase  # type: ignore[attr-defined]


def mend(connection: Any) -> None:
    """
    Drop a connection that no longer works, so that the next statement gets another; never a test case's own.

    One that is too old goes, too, but not where the project sets no age (CONN_MAX_AGE is 0): that asks for a new one with
    every request, and would here be one with every run.
    """
    if connection.in_atomic_block:
        return
    ends = connection.close_at
    if not connection.settings_dict["CONN_MAX_AGE"]:
        connection.close_at = None
    connection.close_if_unusable_or_obsolete()
    if connection.connection is not None:
        connection.close_at = ends


def _refuse_broken(connection: Any) -> None:
    """
    Refuse to commit a transaction that would silently be rolled back.

    A body that swallowed a database error leaves PostgreSQL answering COMMIT with ROLLBACK, and no error.
    """
    raw = connection.connection
    broken = connection.needs_rollback or (
        connection.vendor == "postgresql" and raw is not None and raw.pgconn.transaction_status == _INERROR
    )
    if broken:
        message = (
            "the step swallowed a database error, so its transaction can only be rolled back; "
            "wrap what may fail in transaction.atomic() inside the step"
        )
        raise DurableError(message)


def undone_by_the_database(error: Exception, connection: Any, raw: Any) -> bool:
    """Return whether the database itself ended the transaction, so that beginning it again is right."""
    if not isinstance(error, Error):
        return isinstance(error, NameForgotten)
    cause = error.__cause__ or error
    if getattr(cause, "sqlstate", None) in _ROLLED_BACK_BY_THE_DATABASE:
        return True
    if getattr(cause, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return True
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    # Leaving the transaction may have opened a new connection already; the one it ran on is what counts.
    lost = raw is None or connection.connection is not raw or not connection.is_usable()
    if lost and connection.connection is raw:
        connection.close()
    return lost


def _cutter(connection: Any) -> Callable[[], None] | None:
    """
    Return what ends the open transaction on a thread's connection from another thread: a cancel request, then its socket
    shut down.

    The server looks at the socket between two statements only, so the one it may be working on is canceled first. Which
    connection of the driver it is is looked up then: begun again after a lost one, the step runs on another.
    """
    if connection.vendor != "postgresql":
        return None

    def cut() -> None:
        # Its own handle of the socket, taken first: once canceled, the thread itself may close the connection.
        raw = connection.connection
        if raw is None:
            return
        with (
            contextlib.suppress(OSError, connection.Database.Error),
            socket.socket(fileno=os.dup(raw.fileno())) as wire,
        ):
            with contextlib.suppress(connection.Database.Error):
                raw.cancel_safe(timeout=_CANCEL_TIMEOUT)
            wire.shutdown(socket.SHUT_RDWR)

    return cut


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {text_of(error)}".splitlines()[0][:200]
