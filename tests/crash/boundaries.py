"""
Boundaries: do something between two statements, each in turn. COMMIT counts as a statement.
"""

import contextlib
from collections.abc import Callable, Iterator

from django.db import connections


@contextlib.contextmanager
def at_boundary(number: int, act: Callable[[], None]) -> Iterator[list[str]]:
    """
    Call `act` at that boundary of this thread's default connection, counted from 0; -1 only counts.

    Yields the boundaries passed so far, by name.
    """
    connection, passed = connections["default"], []

    def boundary(name: str) -> None:
        passed.append(name)
        if len(passed) - 1 == number:
            act()

    def around(execute, sql, params, many, context):
        name = " ".join(sql.split()[:3])
        boundary(f"before {name}")
        answer = execute(sql, params, many, context)
        boundary(f"after {name}")
        return answer

    def commit() -> None:
        boundary("before COMMIT")
        type(connection).commit(connection)
        boundary("after COMMIT")

    with connection.execute_wrapper(around):
        connection.commit = commit
        try:
            yield passed
        finally:
            del connection.commit


def count(work: Callable[[], object]) -> int:
    """Return how many boundaries the work has when nothing happens to it."""
    with at_boundary(-1, lambda: None) as passed:
        work()
    return len(passed)
