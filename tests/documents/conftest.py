"""What this folder says at the end of a run: how many orders of which writers were played."""

import pytest

from tests.gates import tell

EXPLORED: list[tuple[str, object]] = []


@pytest.fixture
def report(request):
    """Keep a line for the summary of the test run."""
    return lambda found: EXPLORED.append((request.node.name.removeprefix("test_"), found))


def pytest_terminal_summary(terminalreporter) -> None:
    tell(terminalreporter, "orders of writers", EXPLORED)
