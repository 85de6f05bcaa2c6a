"""
Proxy: a network between a worker and its server that does what networks do: drop, freeze, slow down, reset, lose an answer.
"""

import contextlib
import socket
import struct
import threading
import time

#: What commits: the words, and the receipt of a message, which is one statement and commits by itself.
_COMMITS = (b"COMMIT\0", b"COMMIT AND CHAIN", b"WITH beside AS (UPDATE")
_NEVER_LINGER = struct.pack("ii", 1, 0)  # SO_LINGER: close() then sends RST instead of FIN


class Proxy:
    """Passes bytes between a local port and the server's, in the way its `mode` says at that moment."""

    def __init__(self, server_port: int) -> None:
        self.mode = "pass"  # or "freeze": sockets stay open, nothing passes; "slow"; "refuse": closed at once
        self.delay = 0.05  # seconds per chunk, when slow
        self.commits = 0  # COMMITs seen
        self.lose_commit: int | None = None  # number of the COMMIT, counted from 0, whose answer is lost
        self.lose_before = False  # it is lost on its way to the server, instead of the answer on its way back
        self._server_port = server_port
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._muted: set[tuple] = set()  # whose next answer is lost
        self._lock = threading.Lock()
        self._thawed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self.mode = "refuse"
        self._thawed.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.reset()

    def freeze(self) -> None:
        """From now on no byte passes, on old connections and new ones; both sides believe all is well."""
        self._thawed.clear()
        self.mode = "freeze"

    def thaw(self) -> None:
        """Bytes pass again; those held back arrive now."""
        self.mode = "pass"
        self._thawed.set()

    def reset(self) -> None:
        """Reset every connection, on both sides."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for wire in pair:
                _reset(wire)

    def passes(self, *, from_client: bool) -> bool:
        """Asked for each chunk; a test's own proxy may end the connection there."""
        return True

    @property
    def connections(self) -> int:
        return len(self._pairs)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.mode == "refuse":
                _reset(client)
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._server_port))
        except OSError:
            _reset(client)
            return
        pair = (client, server)
        with self._lock:
            self._pairs.add(pair)
        threading.Thread(target=self._pump, args=(client, server, pair, True), daemon=True).start()
        self._pump(server, client, pair, False)

    def _pump(self, source: socket.socket, target: socket.socket, pair: tuple, from_client: bool) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(65536):
                if self.mode == "freeze":
                    self._thawed.wait()
                if self.mode == "slow":
                    time.sleep(self.delay)
                commits = from_client and any(mark in chunk for mark in _COMMITS)
                if (
                    not self.passes(from_client=from_client)
                    or pair in self._muted
                    or (commits and self._ends_at_commit(pair))
                ):
                    break
                target.sendall(chunk)
            else:
                with contextlib.suppress(OSError):
                    target.shutdown(socket.SHUT_WR)
                return
        with self._lock:
            self._pairs.discard(pair)
        for wire in pair:
            _reset(wire)

    def _ends_at_commit(self, pair: tuple) -> bool:
        """Return whether this COMMIT is lost before it reaches the server; one whose answer is to be lost is noted."""
        with self._lock:
            number, self.commits = self.commits, self.commits + 1
            if number == self.lose_commit and not self.lose_before:
                self._muted.add(pair)
            return number == self.lose_commit and self.lose_before


def _reset(wire: socket.socket) -> None:
    with contextlib.suppress(OSError):
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NEVER_LINGER)
    with contextlib.suppress(OSError):
        wire.shutdown(socket.SHUT_RD)  # wakes the thread that reads it, and says nothing to the other side
    wire.close()
