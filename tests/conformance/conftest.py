"""What the whole suite says at its end: how much was explored, how long it took."""

from __future__ import annotations

import pytest

EXPLORED: list[tuple[str, object]] = []


@pytest.fixture
def report(request):
    """Keep a line for the summary of the test run."""
    return lambda found: EXPLORED.append((request.node.callspec.id, found))


@pytest.fixture
def subject_jobs():
    """The subject `job`, for tests about statements that only a job sends."""
    from .subjects import Jobs

    return Jobs()


def pytest_terminal_summary(terminalreporter) -> None:
    if not EXPLORED:
        return
    terminalreporter.section("interleavings")
    for name, found in EXPLORED:
        terminalreporter.write_line(f"{name}: {found}")
    total = [sum(getattr(found, part) for _, found in EXPLORED) for part in ("schedules", "states", "waits", "seconds")]
    terminalreporter.write_line("all: {} schedules, {} states, {} lock waits in {:.1f} s".format(*total))
