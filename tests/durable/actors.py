"""
Actors: the other threads and processes that take part in a test, each with its own connections.

A test waits for what they did, never for time; what went wrong in them is raised here.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit, urlunsplit

from django.db import connection, connections

ROOT = Path(__file__).resolve().parents[2]


def until(fact, *, within: float = 15.0):
    """Wait until the fact holds and return it; fail after so many seconds."""
    deadline = time.monotonic() + within
    while not (answer := fact()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not true within {within:g} s: {getattr(fact, '__name__', fact)}")
        time.sleep(0.01)
    return answer


class Meanwhile(threading.Thread):
    """Work in another thread. `result()` waits for its end and raises what it raised."""

    def __init__(self, work, *args) -> None:
        super().__init__(daemon=True)
        self._work, self._args, self._answer, self._error = work, args, None, None
        self.start()

    def run(self) -> None:
        try:
            self._answer = self._work(*self._args)
        except BaseException as error:
            self._error = error
        finally:
            connections.close_all()

    def result(self, *, within: float = 20.0):
        self.join(within)
        if self.is_alive():
            raise AssertionError(f"the other thread is not done within {within:g} s")
        if self._error is not None:
            raise self._error
        return self._answer


class Forked:
    """Work in a forked child of this process; what it printed is in `said` after `wait()`."""

    running: ClassVar[set] = set()  # a test that fails leaves children behind; the suite ends them

    def __init__(self, work) -> None:
        connections.close_all()
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads; the child uses none of them
            self.pid = os.fork()
        if self.pid == 0:
            _be_the_child(work, writer)
        os.close(writer)
        self._reader, self.said = reader, ""
        self.running.add(self)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Return the exit status; negative: the signal it died of."""
        with os.fdopen(self._reader, encoding="utf-8", errors="replace") as pipe:
            self.said = pipe.read()
        self.running.discard(self)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait()


def _be_the_child(work, writer: int) -> None:
    code = 70
    try:
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        # The suite's own handler of interrupts would raise in the middle of a step.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        work()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def manage(*args: str, **environment: str) -> subprocess.CompletedProcess:
    """Run manage.py against the test's database, as an operator would."""
    return subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", str(ROOT / "manage.py"), *args],
        cwd=ROOT, env=_environment() | environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def manage_meanwhile(*args: str, shell: bool = False, **environment: str) -> subprocess.Popen:
    """Start manage.py and go on; `shell` puts a shell in front, as containers do."""
    command = [sys.executable, str(ROOT / "manage.py"), *args]
    if shell:
        command = ["sh", "-c", 'exec "$@"', "sh", *command]
    return subprocess.Popen(
        command, cwd=ROOT, env=_environment() | environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def url_of(name: str) -> str:
    """Return the URL of another database on the suite's server."""
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))


def _environment() -> dict[str, str]:
    name = str(connection.settings_dict["NAME"])
    return {**os.environ, "DATABASE_URL": url_of(name), "DJANGO_SETTINGS_MODULE": "tests.settings"}
