"""What the whole suite says at its end: how much was explored, how long it took."""

from __future__ import annotations

import pytest

from tests.gates import tell

EXPLORED: list[tuple[str, object]] = []
LIVED: list[str] = []


@pytest.fixture
def report(request):
    """Keep a line for the summary of the test run."""
    return lambda found: EXPLORED.append((request.node.callspec.id, found))


@pytest.fixture(autouse=True)
def _no_pass_of_another_test():
    yield
    from .subjects import forget_passes

    forget_passes()


@pytest.fixture
def subject_jobs():
    """The subject `job`, for tests about statements that only a job sends."""
    from .subjects import Jobs

    return Jobs()


@pytest.fixture
def note():
    """Say something in the summary of the test run."""
    return LIVED.append


def pytest_terminal_summary(terminalreporter) -> None:
    for line in LIVED:
        terminalreporter.write_line(line)
    tell(terminalreporter, "interleavings", EXPLORED)
