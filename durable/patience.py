"""
Patience: how long a thread of ours waits for a database that does not answer.

A network that loses every packet, a pooler that hangs: to a socket both look like a server that is still thinking. So
whoever talks to the database between steps says how long that may take, and one watcher, which never talks to a database
itself, shuts down the socket of a thread that waits longer. That thread then sees a lost connection, as from a server
that died, and goes on as it does after any. Steps have their timeout instead.

All of it happens at this end of the wire, and costs no statement; so it is the same through a pooler.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from typing import Any

from django.db import connections

__all__ = ["hang_up", "limit_connection", "patience"]

logger = logging.getLogger("durable")

_LOOK = 0.5  # seconds between two looks of the watcher
_LOOKS_WHEN_IDLE = 10  # then its thread ends


class _Wait:
    """A thread that waits for its connection, and until when it does."""

    __slots__ = ("connection", "seconds", "until")

    def __init__(self, connection: Any, seconds: float) -> None:
        self.connection = connection
        self.seconds = seconds
        self.until = time.monotonic() + seconds


_waits: dict[int, _Wait] = {}
_starting = threading.Lock()
_watcher: threading.Thread | None = None


class patience:  # noqa: N801 - used as a `with` block's verb, as contextlib's own are
    """
    Let this thread's connection be cut off if the block lasts longer; again after as long, as the block may try again.

    The statement in flight raises OperationalError. Costs nothing but an entry in a dictionary.
    """

    __slots__ = ("_seconds", "_using", "_wait")

    def __init__(self, using: str, seconds: float) -> None:
        self._using, self._seconds = using, seconds
        self._wait: _Wait | None = None

    def __enter__(self) -> None:
        connection = connections[self._using]
        if connection.vendor == "postgresql":
            self._wait = _Wait(connection, self._seconds)
            _waits[id(self._wait)] = self._wait
            if _watcher is None:
                _start_watching()

    def __exit__(self, *_: object) -> None:
        if self._wait is not None:
            del _waits[id(self._wait)]


def limit_connection(using: str, lease: float) -> None:
    """
    Let this thread's connections to that alias notice within a lease that the network or the server's host is gone.

    These are parameters of the client's library, sent to nobody; what the project set in OPTIONS stays as it is. Takes
    effect with the next connection.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    limits = {
        "connect_timeout": max(2, round(lease / 6)),
        "keepalives_idle": max(1, round(lease / 3)),
        "keepalives_interval": max(1, round(lease / 6)),
        "keepalives_count": 3,
        "tcp_user_timeout": max(1000, round(lease * 1000 * 5 / 6)),
    }
    settings = connection.settings_dict
    connection.settings_dict = {**settings, "OPTIONS": {**limits, **settings["OPTIONS"]}}


def hang_up(connection: Any) -> None:
    """
    Shut down the socket of another thread's connection.

    The server sees the client gone and rolls back, through a pooler too; the thread gets an error at its next statement.
    """
    raw = connection.connection
    if raw is None or raw.closed:
        return
    with contextlib.suppress(OSError, connection.Database.Error), socket.socket(fileno=os.dup(raw.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)


def _start_watching() -> None:
    global _watcher
    with _starting:
        if _watcher is None:
            _watcher = threading.Thread(target=_watch, name="durable-patience", daemon=True)
            _watcher.start()


def _watch() -> None:
    global _watcher
    idle, nothing = 0, threading.Event()
    while not nothing.wait(_LOOK):
        now = time.monotonic()
        for wait in list(_waits.values()):
            if now >= wait.until:
                wait.until = now + wait.seconds
                logger.warning("no answer alias=%s seconds=%g: hanging up", wait.connection.alias, wait.seconds)
                hang_up(wait.connection)
        idle = 0 if _waits else idle + 1
        if idle > _LOOKS_WHEN_IDLE:
            with _starting:
                if not _waits:
                    _watcher = None
                    return


def _forget_after_fork() -> None:
    global _watcher, _starting
    _waits.clear()
    _watcher, _starting = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)
