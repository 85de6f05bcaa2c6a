"""What this folder says at the end of a run: how many orders of which writers were played."""

import pytest

EXPLORED: list[tuple[str, object]] = []


@pytest.fixture
def report(request):
    """Keep a line for the summary of the test run."""
    return lambda found: EXPLORED.append((request.node.name.removeprefix("test_"), found))


def pytest_terminal_summary(terminalreporter) -> None:
    if not EXPLORED:
        return
    terminalreporter.section("orders of writers")
    for name, found in EXPLORED:
        terminalreporter.write_line(f"{name}: {found}")
    total = [sum(getattr(found, part) for _, found in EXPLORED) for part in ("schedules", "states", "waits", "seconds")]
    terminalreporter.write_line("all: {} schedules, {} states, {} lock waits in {:.1f} s".format(*total))
