"""A pooler, as far as a client can tell: passes every byte on, and names a process of its own instead of the server's."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["behind_a_pooler"]


@contextlib.contextmanager
def behind_a_pooler(connection: Any, folder: Path) -> Iterator[None]:
    """Have Django's connection go through one; it is closed before and after."""
    connection.ensure_connection()
    pooler = Pooler(folder, connection.connection.info.host, connection.connection.info.port)
    connection.close()
    connection.settings_dict["HOST"], direct = str(folder), connection.settings_dict["HOST"]
    try:
        yield
    finally:
        connection.settings_dict["HOST"] = direct
        connection.close()
        pooler.close()


class Pooler:
    """Takes one connection in a folder, as a server does on a Unix socket; set HOST to the folder."""

    def __init__(self, folder: Path, host: str, port: int) -> None:
        name = f".s.PGSQL.{port}"
        self._server = (f"{host}/{name}", None) if host.startswith("/") else (host, port)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{folder}/{name}")
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait until the client is gone."""
        self._thread.join(10)
        self._listener.close()

    def _serve(self) -> None:
        host, port = self._server
        with self._listener.accept()[0] as client, _connected(host, port) as server:
            forth = threading.Thread(target=_pass, args=(client, server))
            forth.start()
            _pass(server, client)
            forth.join()


def _connected(host: str, port: int | None) -> socket.socket:
    if port is not None:
        return socket.create_connection((host, port))
    server = socket.socket(socket.AF_UNIX)
    server.connect(host)
    return server


def _pass(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65536):
            target.sendall(_renamed(chunk))
        target.shutdown(socket.SHUT_WR)


def _renamed(chunk: bytes) -> bytes:
    """Put another process id into BackendKeyData: a K, the length, the id and a key of four bytes."""
    at = chunk.find(b"K\0\0\0\x0c")
    return chunk if at < 0 else chunk[: at + 5] + b"\0\0\0\1" + chunk[at + 9 :]
