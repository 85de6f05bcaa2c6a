"""
Crashes: a real SIGKILL at a chosen boundary between two statements, in a forked child.

A boundary is the moment just before a statement is sent, or just after its answer came; COMMIT counts as a statement.
"""

from __future__ import annotations

import contextlib
import os
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connections

__all__ = ["Crash", "crash_at_statement", "in_child"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """How a child ended."""

    killed: bool  # by SIGKILL at the boundary; False: it ran to its end
    boundary: str  # "before UPDATE …" or "after COMMIT"; empty where it was not killed
    passed: int  # boundaries it passed


@contextlib.contextmanager
def crash_at_statement(
    number: int, *, using: str = "default", note: Callable[[str], None] | None = None
) -> Iterator[Callable[[], int]]:
    """
    Kill this process with SIGKILL at that boundary, counted from 0. Yields a function that tells how many were passed.

    Args:
        number: the boundary; -1 never kills, and only counts.
        using: the database alias whose statements count, on this thread's connection.
        note: told the boundary's name just before the end.
    """
    connection = connections[using]
    passed = 0

    def boundary(name: str) -> None:
        nonlocal passed
        if passed == number:
            if note is not None:
                note(name)
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    def around(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        name = " ".join(sql.split())[:80]
        boundary(f"before {name}")
        answer = execute(sql, params, many, context)
        boundary(f"after {name}")
        return answer

    def commit() -> None:
        boundary("before COMMIT")
        type(connection).commit(connection)
        boundary("after COMMIT")

    with connection.execute_wrapper(around):
        connection.commit = commit  # type: ignore[method-assign]
        try:
            yield lambda: passed
        finally:
            del connection.commit


def in_child(work: Callable[[], Any], *, crash_at: int = -1, using: str = "default") -> Crash:
    """
    Do the work in a forked child with its own connections, killed at that boundary; wait for its end.

    Raises:
        AssertionError: the work raised in the child; its traceback is the message.
    """
    connections.close_all()
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn when a process with threads forks; the child uses none of the parent's.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _be_the_child(work, crash_at, using, reader, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    word, _, rest = said.partition("\n")
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return Crash(killed=True, boundary=rest.strip() if word == "boundary" else "", passed=max(crash_at, 0))
    if word != "passed":
        message = f"the work failed in the child (exit status {os.waitstatus_to_exitcode(status)}):\n{rest}"
        raise AssertionError(message)
    return Crash(killed=False, boundary="", passed=int(rest))


def _be_the_child(work: Callable[[], Any], crash_at: int, using: str, reader: int, writer: int) -> None:
    code = 1
    try:
        os.close(reader)

        def say(word: str, rest: object) -> None:
            os.write(writer, f"{word}\n{rest}".encode())

        try:
            with crash_at_statement(crash_at, using=using, note=lambda name: say("boundary", name)) as passed:
                work()
            say("passed", passed())
            code = 0
        except BaseException:  # noqa: BLE001 - handed to the parent, which raises it
            say("failed", traceback.format_exc())
    finally:
        # Never return into the parent's code, nor run its exit handlers.
        os._exit(code)
