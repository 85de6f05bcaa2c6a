"""Processes that start together, and what is left of them afterwards."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from bench.together import seconds_together, seconds_until_drained


def _naps(place, gate, seconds):
    gate.wait()
    time.sleep(seconds)


def _fails(place, gate):
    gate.wait()
    raise ValueError("as it should")


def _starts_another(place, gate, folder):
    child = subprocess.Popen(["sleep", "60"])
    Path(folder, str(place)).write_text(str(child.pid))
    gate.wait()
    time.sleep(60)


def test_the_clock_runs_from_the_gate_to_the_last_process():
    taken = seconds_together(2, _naps, 0.2)

    assert 0.2 <= taken < 5


def test_a_worker_that_raises_ends_the_measurement(capfd):
    with pytest.raises(RuntimeError, match="a worker process died"):
        seconds_together(1, _fails)

    assert "as it should" in capfd.readouterr().err


def test_workers_of_workers_are_ended_too(tmp_path):
    seconds_until_drained(1, _starts_another, lambda: False, str(tmp_path))

    pid = int((tmp_path / "0").read_text())
    until = time.monotonic() + 10
    while time.monotonic() < until and _runs(pid):
        time.sleep(0.02)
    assert not _runs(pid)


def _runs(pid):
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
