"""Commands of this site as child processes that never outlive us."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["command", "manage", "stop_on_signals"]

MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
PR_SET_PDEATHSIG = 1


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(MANAGE), *arguments]


@contextmanager
def manage(*arguments: str, **environment: str) -> Iterator[subprocess.Popen]:
    """Run `manage.py` with these arguments; at the end of the block it is gone, with all it started."""
    process = subprocess.Popen(
        command(*arguments),
        env={**os.environ, **environment},
        # Ctrl-C in the terminal is ours to handle, once and in order.
        start_new_session=True,
        preexec_fn=_die_with_the_parent(),
    )
    try:
        yield process
    finally:
        _end(process)


def stop_on_signals() -> None:
    """Turn SIGTERM and SIGHUP into an ordinary exit, so that every `with` block of ours is left."""

    def leave(number: int, frame: object) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


def _end(process: subprocess.Popen) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            continue


def _die_with_the_parent() -> Callable[[], None] | None:
    """Linux can kill a child whose parent died by SIGKILL; elsewhere `finally` has to do."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
