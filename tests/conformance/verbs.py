"""
Verbs: what workers, staff and time do to one run, of any shape. The short programs are made of these.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from django.db import OperationalError, connections

from durable.attempt import Outcome, attempt
from durable.clock import InSeconds
from durable.contract import Claim, Taking, claim, release_early
from durable.errors import DurableError

from .far_side import Paused
from .subjects import Subject

__all__ = ["LEASE", "advance_until_paused", "answer_lost", "carry_on", "free_early", "lapse", "take"]

LEASE = 60.0


def take(subject: Subject, pk: Any, owner: str) -> tuple[Any, Claim] | None:
    """Claim that run, if it is free, as a worker of the deployed code would."""
    model = subject.model
    taking = Taking(pk=pk, also=model.can_carry_out())
    taken = claim(model, using="default", owner=owner, lease=LEASE, taking=taking)
    return taken[0] if taken else None


def carry_on(subject: Subject, pk: Any, owner: str, seen: Callable[[Claim], None] = bool) -> Outcome | None:
    """Claim it and advance it as far as it goes. None where it was not free."""
    taken = take(subject, pk, owner)
    if taken is None:
        return None
    run, right = taken
    seen(right)
    return attempt(run, right)


def lapse(subject: Subject, pk: Any) -> None:
    """Let so much time pass that a lease, if there is one, has run out."""
    rows = subject.model._base_manager.filter(pk=pk, lease_expires_at__isnull=False)
    rows.update(lease_expires_at=InSeconds(-1))


def free_early(subject: Subject, right: Claim) -> None:
    """Be the boot pass that knows that owner to be dead (it may be wrong: correctness never rests on it)."""
    release_early(subject.model._base_manager.filter(pk=right.pk), fence=right.fence, owner=right.owner)


def advance_until_paused(run: Any, right: Claim) -> None:
    """Advance as an attempt does, but write nothing down where that ends: the thread pauses, or finds the run lost."""
    with contextlib.suppress(Paused, DurableError):
        if right.lost_owner is None or not run.lost(right):
            run.advance(right)


@contextlib.contextmanager
def answer_lost(number: int) -> Iterator[None]:
    """Lose the answer to this thread's n-th COMMIT, with the connection. The server has committed."""
    commits, connection = 0, connections["default"]

    def commit() -> None:
        nonlocal commits
        type(connection).commit(connection)
        commits += 1
        if commits == number:
            connection.connection.close()
            raise OperationalError("server closed the connection unexpectedly")

    connection.commit = commit
    try:
        yield
    finally:
        del connection.commit
