"""
Chain: the transactions of one attempt, one after the other, where COMMIT and what begins the next are one message.

Nothing lies between a step's commit and the next one's receipt but two waits for the server. So where a database step
follows another, and nobody is to be told in between, COMMIT AND CHAIN takes the receipt along. The next body runs when the
answer is there, which says that the step before is committed. For Django it is one atomic block all the while; to the
database each is a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from django.db import transaction

from . import cursors

__all__ = ["Chain"]

_INTRANS = 2  # libpq's PQTRANS_INTRANS: a transaction is open, and sound


class Chain:
    """
    A `with` block for each transaction; `close` after the last.

    Args:
        connection: this thread's.
        go_on: called when a block ends well, in a transaction that may be committed with the next one's beginning. Does
            that, and returns whether the next is begun, with its receipt. Raises what a COMMIT would.
    """

    def __init__(self, connection: Any, go_on: Callable[[], bool] = bool) -> None:
        self.connection = connection
        self.is_begun = False  # the transaction was begun by the block before, and its receipt is written
        self._go_on = go_on
        self._block: Any = None

    def __enter__(self) -> None:
        if self._block is None:
            self._block = transaction.atomic(using=self.connection.alias, durable=True)
            self._block.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.is_begun = False
        try:
            if kind is None and self._can_go_on():
                self.is_begun = self._go_on()
        except BaseException as refused:
            self._leave(type(refused), refused, refused.__traceback__)
            raise
        if not self.is_begun:
            self._leave(kind, error, traceback)

    def begin_ahead(self, send: Callable[[], tuple[bool | None, bool]]) -> bool | None:
        """
        Begin the first transaction before its block, with what goes before it.

        Args:
            send: called where nobody looks on. Returns whether that was written, None where it did nothing, and whether
                the transaction is begun, with its receipt. Raises what a COMMIT would.

        Returns:
            Whether that was written. None: nothing was sent.
        """
        if (
            self.connection.in_atomic_block
            or not self.connection.autocommit
            or not cursors.nobody_looks_on(self.connection)
        ):
            return None
        self.__enter__()
        try:
            written, self.is_begun = send()
        except BaseException as refused:
            self._leave(type(refused), refused, refused.__traceback__)
            raise
        if not self.is_begun:
            self._leave(None, None, None)
        return written

    def close(self) -> None:
        """Roll back a transaction that was begun for a step that is not done after all."""
        if self._block is not None:
            self._leave(GeneratorExit, None, None)

    def _can_go_on(self) -> bool:
        """Whether this block is all there is between Django and the database: no test's transaction, nothing to be told."""
        connection = self.connection
        return (
            cursors.nobody_looks_on(connection)
            and not connection.savepoint_ids  # ours is the outermost block, which commits
            and not connection.run_on_commit
            and connection.connection.pgconn.transaction_status == _INTRANS
        )

    def _leave(self, kind: Any, error: Any, traceback: Any) -> None:
        block, self._block = self._block, None
        block.__exit__(kind, error, traceback)
