"""
Passes: bring rows in line with an authority, one idempotent pass over all of them. No job per row, no table of jobs.

    from durable import passes

    @passes.register("billing")
    class BillingSync(passes.SyncPass):
        def rows(self): return Subscription.objects.all()
        def sync(self, row): ...   # one row's failure never stops the rest

`manage.py reconcile` makes it at boot, `reconcile --kind billing` on demand. One small row per pass holds its lease, its
fence, how far it is and how the last one went: two servers never make it at the same time, and a crash costs a few rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .syncs import PassError, SyncPass, find, forget, known, register

if TYPE_CHECKING:
    from .syncing import Pass

__all__ = ["PassError", "SyncPass", "find", "forget", "known", "register", "request"]


def request(name: str, *, using: str | None = None) -> Pass:
    """
    Ask for a pass, whenever the last one was. A worker makes it, or call `run()` on what this returns.

    Return its row. One that is under way is left alone: it goes on.

    Raises:
        LookupError: this code has no pass of that name.
    """
    from .syncing import Pass

    if find(name) is None:
        message = f"there is no pass {name!r}; passes: {', '.join(one.name for one in known()) or 'none'}"
        raise LookupError(message)
    return Pass.asked_for(name, using)
