"""
Workers: real `manage.py reconcile` processes, and waiting for facts instead of time.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

#: Short, so that a test waits seconds and not minutes; the proportions are the defaults'.
QUICK = {"LEASE": 2.0, "POLL": 0.2, "GRACE": 3.0, "STEP_TIMEOUT": 20.0}


class Worker:
    """One process, its output in a file, killed with everything it started when the test is over."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], log: Path, **popen: Any) -> None:
        self.log = log
        self._out = log.open("wb")
        self.process = subprocess.Popen(
            list(command), env={**os.environ, **environment}, cwd=ROOT, stdout=self._out, stderr=subprocess.STDOUT,
            start_new_session=True, **popen,
        )  # fmt: skip

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL to it and to whatever it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        self._out.close()

    def ends(self, seconds: float = 30.0) -> int:
        """Wait for its end; return the exit status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"still running after {seconds} s; it said:\n{self.said[-3000:]}") from error


class Workers:
    """Starts workers against one database, and leaves none behind."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.started: list[Worker] = []

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    def environment(self, *, durable: dict[str, float] | None = None, url: str = "", **more: str) -> dict[str, str]:
        return {
            "DJANGO_SETTINGS_MODULE": "tests.crash.settings",
            "DATABASE_URL": url or self.url,
            "CRASH_DURABLE": json.dumps({**QUICK, **(durable or {})}),
            "CRASH_LEDGER": str(self.ledger),
            "PYTHONUNBUFFERED": "1",
            **more,
        }

    def command(self, *options: str, program: str = "reconcile") -> list[str]:
        return [sys.executable, "manage.py", program, *options]

    def start(
        self, *options: str, before: Sequence[str] = (), popen: dict[str, Any] | None = None, **env: Any
    ) -> Worker:
        """Start `manage.py reconcile` with those options; `before` is what is typed before it."""
        return self.start_command([*before, *self.command(*options)], popen=popen, **env)

    def start_command(self, command: Sequence[str], popen: dict[str, Any] | None = None, **env: Any) -> Worker:
        log = self.folder / f"worker-{len(self.started)}.log"
        worker = Worker(command, self.environment(**env), log, **(popen or {}))
        self.started.append(worker)
        return worker

    def passes(self, *options: str, **env: Any) -> Worker:
        """Run one boot pass to its end."""
        worker = self.start(*options, **env)
        worker.ends(60)
        return worker

    def kill_all(self) -> None:
        for worker in self.started:
            worker.kill()


def until(fact: Callable[[], Any], what: str = "", seconds: float = 20.0) -> Any:
    """Wait until a fact is true; return it. Fails with a sentence when it never becomes so."""
    deadline = time.monotonic() + seconds
    while not (found := fact()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what or fact}")
        time.sleep(0.02)
    return found


def seconds_until(fact: Callable[[], Any], what: str = "", seconds: float = 20.0) -> float:
    """Wait until a fact is true; return how long that took."""
    began = time.monotonic()
    until(fact, what, seconds)
    return time.monotonic() - began
