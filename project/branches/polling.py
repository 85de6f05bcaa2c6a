"""
The reset of a branch: begun once, and watched until every operation of Neon's that belongs to it has ended.

Neon takes no key. So the branch that keeps the old state is named after ours: whether a restore was accepted is answered
by looking for that name, and a second one under it would be refused.
"""

from datetime import timedelta

from durable import Refused, RetryAfter, polling

from . import neon

__all__ = ["BranchReset", "kept_under"]

ENDED_WELL = {"finished", "skipped"}
ENDED = ENDED_WELL | {"cancelled"}  # failed is not among them: Neon tries again (its reference, 2026)
NOTHING_BEGAN = "-"  # the handle of a restore for which Neon began no operation


def kept_under(op) -> str:
    """Return the name of the branch that keeps what was there before."""
    return f"before-reset-{op.key}"


@polling.register("branch.reset", every=3, give_up_after=timedelta(hours=1), timeout=60, find_for=timedelta(minutes=2))
class BranchReset(polling.ExternalCall):
    """`payload`: {"branch": id}. `handle`: the ids of Neon's operations, with commas."""

    def begin(self, op):
        ours = op.payload["branch"]
        try:
            parent = neon.branch(ours).get("parent_id")
        except OSError as error:
            message = f"not asked yet: {error}"
            raise RetryAfter(5, message) from error
        if not parent:
            message = "this branch has no parent to be reset to"
            raise Refused(message)
        return _accepted(neon.restore(ours, source=parent, preserve_under_name=kept_under(op)))

    def find(self, op):
        kept = neon.branches_named(kept_under(op))
        if not kept:
            return None
        # Neon's clock on both sides: no operation of the restore is older than the branch it made.
        both, since = {op.payload["branch"], kept[0]["id"]}, kept[0]["created_at"]
        mine = [one for one in neon.operations() if one.get("branch_id") in both and one["created_at"] >= since]
        return _accepted(mine)

    def poll(self, op):
        if op.handle == NOTHING_BEGAN:
            return _of_branch(neon.branch(op.payload["branch"]))
        statuses = [neon.operation(one)["status"] for one in op.handle.split(",")]
        going = next((status for status in statuses if status not in ENDED), None)
        if going is not None:
            return polling.Pending(going)
        if all(status in ENDED_WELL for status in statuses):
            return polling.Succeeded({"operations": len(statuses), "kept_under": kept_under(op)}, status=statuses[-1])
        return polling.Canceled("Neon cancelled it", status="cancelled")


def _accepted(began):
    if not began:
        return polling.Accepted(NOTHING_BEGAN)
    return polling.Accepted(",".join(one["id"] for one in began), began[0].get("status", ""))


def _of_branch(branch):
    state = branch.get("pending_state") or branch.get("current_state", "")
    return polling.Succeeded(status=state) if state in ("ready", "archived") else polling.Pending(state)
