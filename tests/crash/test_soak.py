"""
Twenty seconds of random harm to a crew of workers and their server: nothing lost, nothing twice. The seed is printed.
"""

import json
import subprocess
import sys

import pytest

from . import results
from .workers import ROOT

pytestmark = pytest.mark.postgres


def soak(seconds: int) -> None:
    command = [sys.executable, "-m", "bench.soak", "--seconds", str(seconds), "--workers", "3"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + 240)

    assert done.stdout, done.stderr[-3000:]
    found = json.loads(done.stdout)
    results.keep("soak", f"{seconds} s", **found)
    assert done.returncode == 0, f"{done.stderr[:100]}\n{done.stdout}"
    assert found["started"] > 20
    assert found["settled"] == found["started"]
    assert sum(found["harm"].values()) > 5


def test_twenty_seconds_of_random_harm_lose_and_repeat_nothing():
    soak(20)


@pytest.mark.long
def test_two_minutes_of_random_harm_lose_and_repeat_nothing():
    soak(120)
