"""Scenes of the other shapes: operations of somebody else, passes, and plans."""

from datetime import timedelta

from django.db import connection

from durable import clock, plans
from durable.clock import InSeconds
from durable.models import Operation, Pass, Plan, PlanReceipt
from project.plans.models import Contact

from .scenes import an_owner, failure

__all__ = ["a_pass", "operation", "plan", "remote", "unknown"]


def operation(key, **columns):
    row = Operation(
        kind="branch.reset", key=key, payload={"branch": "preview", "api_key": "neon-123"}, started_by="ada"
    )
    row.save()
    Operation.objects.filter(pk=row.pk).update(created_at=InSeconds(-400), **columns)
    row.refresh_from_db()
    return row


def _begun(now, *shown):
    at = [now - timedelta(seconds=300 - 60 * n) for n in range(len(shown) + 1)]
    seen = [
        {
            "status": status,
            "first": at[n + 1].isoformat(),
            "last": at[n + 1].isoformat(),
            "by": "web-1/9",
            "fence": n + 2,
        }
        for n, status in enumerate(shown)
    ]
    return {"begun_at": at[0], "begun_fence": 1, "accepted_at": at[0], "accepted_by": "web-2/17", "accepted_fence": 1,
            "handle": "op-7f3a", "seen": seen, "far_status": shown[-1] if shown else "", "watched_since": at[0]}  # fmt: skip


def remote(key="reset:preview"):
    now = clock.read(connection)
    begun = _begun(now, "scheduling", "running")
    return operation(key, status="running", fence=5, due_at=InSeconds(3), attempts=1, updated_at=InSeconds(-2), **begun)


def unknown(key="reset:staging"):
    now = clock.read(connection)
    said = "WorkerLost: web-2/17 vanished as it was begun (loss 1 in a row)"
    return operation(
        key, status="unknown", fence=3, due_at=None, settled_at=InSeconds(-120), begun_at=InSeconds(-300), begun_fence=1,
        last_error="it may have been begun, and nothing of it was found for 120 s",
        failures=[failure(now, 290, 1, "begin", "WorkerLost", said, "web-2/17")],
    )  # fmt: skip


def a_pass(key="billing", **columns):
    row = Pass(key=key)
    row.save()
    summary = {"synced": 1000, "changed": 12, "failed": 0, "errors": [], "took": 4.2}
    facts = {"status": "done", "due_at": None, "settled_at": InSeconds(-3600), "summary": summary, **columns}
    Pass.objects.filter(pk=row.pk).update(summary_at=InSeconds(-3600), **facts)
    row.refresh_from_db()
    return row


def plan(by=None, *, status="pending", **columns):
    """Return a plan of two real actions; where it failed, its first step was done and its second was not."""
    contact = Contact.objects.create(name="Ada Byron")
    steps = [
        ("contact.rename", {"id": contact.pk, "name": "Ada Lovelace"}),
        ("mail.send", {"to": "ada@example.org", "subject": "Your name", "text": "It is changed."}),
    ]
    known = {action.name for action in plans.known()}
    made = plans.propose([step for step in steps if step[0] in known], by=by, title="Rename Ada", expires_in=900)
    if status == "pending":
        return made
    Plan.objects.filter(pk=made.pk).update(status=status, fence=1, **columns)
    PlanReceipt.objects.create(
        plan=made, position=0, action="contact.rename", guarantee="exactly once", kind="ok", took=0.02, fence=1,
        owner=an_owner(), output={"was": "Ada Byron", "undo": {"id": contact.pk, "name": "Ada Byron"}},
    )  # fmt: skip
    made.refresh_from_db()
    return made
