"""
Waking: a started run rings, and a watching worker looks at once instead of at its next poll.

PostgreSQL's NOTIFY, after the commit that it tells of, in a statement of its own: sent inside the transaction it would
make every commit of the database wait in one line. Only a convenience: a ring that is lost costs one poll. Off unless the
NOTIFY setting is on; behind a pooler that gives no session nothing is heard, and the poll goes on.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.db import Error, connections, transaction

from .conf import setting

__all__ = ["listening", "ring_after_commit"]

logger = logging.getLogger("durable")

_CHANNEL = "durable"
_RETRY = 30.0  # seconds until a listener that failed tries again
_LOOK_UP = 1.0  # seconds after which a listener looks whether it should end


def ring_after_commit(using: str) -> None:
    """Wake watching workers once the caller's transaction, if any, has committed. Never raises into the caller."""
    if setting("NOTIFY") and connections[using].vendor == "postgresql":
        # Robust: the run is committed; trouble with the ring is not the caller's.
        transaction.on_commit(functools.partial(_ring, using), using=using, robust=True)


@contextlib.contextmanager
def listening(aliases: Iterable[str], wake: Callable[[], None]) -> Iterator[None]:
    """Call `wake` for each ring on those aliases, from threads of their own, while the context lasts."""
    end = threading.Event()
    listeners = [
        threading.Thread(target=_listen, args=(alias, wake, end), name=f"durable-listener-{alias}", daemon=True)
        for alias in aliases
        if setting("NOTIFY") and connections[alias].vendor == "postgresql"
    ]
    for listener in listeners:
        listener.start()
    try:
        yield
    finally:
        end.set()
        for listener in listeners:
            listener.join(timeout=2 * _LOOK_UP)


def _ring(using: str) -> None:
    with connections[using].cursor() as cursor:
        cursor.execute(f"NOTIFY {_CHANNEL}")


def _listen(alias: str, wake: Callable[[], None], end: threading.Event) -> None:
    connection: Any = connections[alias]
    told = False
    while not end.is_set():
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {_CHANNEL}")
            raw: Any = connection.connection
            told = False
            while not end.is_set():
                for _ in raw.notifies(timeout=_LOOK_UP, stop_after=1):
                    wake()
        except (Error, OSError, connection.Database.Error) as error:
            if not told:
                logger.warning("cannot listen, polling only alias=%s error=%s", alias, str(error).partition("\n")[0])
            told = True
            connection.close()
            end.wait(_RETRY)
    connection.close()
