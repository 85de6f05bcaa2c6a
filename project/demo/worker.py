"""The worker of the demo, and its death: SIGKILL between two files of step 3, for real."""

import os
import signal
import subprocess
import time
from collections.abc import Callable

from project.accounts import userfiles
from project.accounts.models import AccountDeletion

from .children import manage

__all__ = ["StoryError", "kill_in_step_three", "reconcile"]

SECONDS_TO_WAIT = 60
PAUSE_PER_FILE = "0.01"


class StoryError(Exception):
    """The story did not go on. The message says what was waited for."""


def kill_in_step_three(deletion: AccountDeletion, files: int) -> tuple[int, int]:
    """Run a worker until half of the files are gone, and kill it; return its process id and how many files are left."""
    with manage("reconcile", "--watch", USER_FILES_PAUSE=PAUSE_PER_FILE) as worker:
        _wait(worker, "the worker to delete half of the files", lambda: userfiles.count(deletion.user_id) <= files // 2)
        os.kill(worker.pid, signal.SIGKILL)
        if worker.wait(timeout=SECONDS_TO_WAIT) != -signal.SIGKILL:
            message = f"The worker was to die by SIGKILL; it ended with {worker.returncode}."
            raise StoryError(message)
    return worker.pid, userfiles.count(deletion.user_id)


def reconcile() -> int:
    """Run `manage.py reconcile` once; return its exit code."""
    with manage("reconcile") as process:
        return process.wait(timeout=SECONDS_TO_WAIT)


def _wait(worker: subprocess.Popen, fact: str, is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS_TO_WAIT
    while not is_true():
        if worker.poll() is not None:
            message = f"The worker ended by itself, with {worker.returncode}, while we waited for {fact}."
            raise StoryError(message)
        if time.monotonic() > until:
            message = f"Waited {SECONDS_TO_WAIT} seconds in vain for {fact}."
            raise StoryError(message)
        time.sleep(0.005)
