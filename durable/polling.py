"""
Polling: work done by someone else. Begun at most once, watched until it ends, and honest when nobody can say how it stands.

    from durable import polling

    @polling.register("branch.reset", every=5, give_up_after=timedelta(hours=1))
    class BranchReset(polling.ExternalCall):
        def begin(self, op): ...   # called at most once: that it is about to be is committed before
        def find(self, op): ...    # after a crash in begin: look it up, never begin it again
        def poll(self, op): ...    # polling.Pending("…"), Succeeded({...}) or Failed("…")

    polling.start("branch.reset", {"branch": "preview"}, key="reset:7", one_at_a_time="preview")

`start` is one INSERT in the caller's transaction. A worker begins it and looks at it, `manage.py reconcile` or `--watch`;
reading it drives nothing, `nudge()` only makes it due.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .calls import (
    Accepted,
    CallError,
    Canceled,
    ExternalCall,
    Failed,
    Pending,
    Succeeded,
    find,
    forget,
    known,
    register,
)

if TYPE_CHECKING:
    from .operations import Operation

__all__ = [
    "Accepted",
    "CallError",
    "Canceled",
    "ExternalCall",
    "Failed",
    "Pending",
    "Succeeded",
    "find",
    "forget",
    "known",
    "register",
    "start",
]


def start(
    kind: str,
    payload: Any,
    *,
    key: str | None = None,
    one_at_a_time: str = "",
    by: Any = "",
    using: str | None = None,
) -> Operation:
    """
    Record that an operation is to be begun, in the caller's transaction or in one of its own.

    Args:
        kind: which class begins and watches it. It need not exist here, or yet.
        payload: JSON; it comes back equal, or is refused here.
        key: the idempotency key, unique within the kind. The same key with the same arguments returns the operation there
            is, also for two callers at the same moment. Without one the operation's own id is the key.
        one_at_a_time: no two operations of the kind with the same text are in flight; one that is unknown still is.
        by: who asked for it, kept as text: the record outlives the account.
        using: the database alias; by default where the router puts operations.

    Returns:
        The operation, new or as it stands.

    Raises:
        BadPayload: naming the place of what could not be stored, or would come back changed.
        KeyConflict: the key was used for this kind with other arguments; both are named.
        AlreadyInFlight: another one holds `one_at_a_time`; it is the error's `run`. The transaction is unhurt.
    """
    from .requesting import record

    return record(kind, payload, key=key, one_at_a_time=one_at_a_time, by=by, using=using)
