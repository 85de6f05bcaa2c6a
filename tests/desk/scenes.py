"""Scenes: runs in every state an operator meets, at times that tell a story. Rows are set; nothing is run."""

from datetime import timedelta

from django.db import connection

from durable import clock, outbox
from durable.clock import InSeconds
from durable.models import Attempt, Message, Worker
from durable.owner import Owner, current
from project.accounts.models import AccountDeletion

__all__ = ["BAD", "an_owner", "deletion", "message", "scenes", "workers"]

BAD = "<img src=x onerror=alert(1)>"
STEPS = ["cancel_subscription", "delete_customer", "delete_files", "delete_objects", "delete_user"]


def an_owner(host="web-2", pid=17):
    return str(Owner(host=host, pid=pid, machine="5e1f00c0ffee", boot="b007b007b007", pids="4026531836", start="88123"))


def failure(now, ago, attempt, step, kind, said, owner="web-1/9"):
    at = (now - timedelta(seconds=ago)).isoformat()
    return {"at": at, "attempt": attempt, "step": step, "type": kind, "message": said, "owner": owner}


def deletion(key, *, done=0, ago=900, took=(0.412, 0.318, 9.8, 3.2, None), starts=(1, 2, 1, 1, 1), **columns):
    """Return an account deletion whose first `done` steps have a receipt; the other columns are set as given."""
    now = clock.read(connection)
    job = AccountDeletion.objects.start(
        key=key, user_id=1_000_000_041, subscription="sub_1OqZ", customer="cus_PdU2", bucket="known-state-users"
    )
    log, at, values = {}, now - timedelta(seconds=ago - 40), {}
    for index, step in enumerate(STEPS[:done]):
        at += timedelta(seconds=(took[index] or 0.05) + 2.5)
        values[f"{step}_at"] = at
        log[step] = {"by": "web-2/17", "fence": 1}
        if took[index]:
            log[step]["took"] = took[index]
        if starts[index] > 1:
            log[step]["starts"] = starts[index]
    values |= {"step_log": log, "created_at": InSeconds(-ago), "updated_at": at, "fence": 1, **columns}
    AccountDeletion.objects.filter(pk=job.pk).update(**values)
    job.refresh_from_db()
    return job


def waiting(key="delete:41"):
    now = clock.read(connection)
    return deletion(
        key,
        done=2,
        fence=4,
        attempts=3,
        due_at=InSeconds(244),
        last_error="S3Error: SlowDown: Please reduce your request rate.",
        failures=[
            failure(now, 130, 3, "delete_files", "S3Error", "SlowDown: Please reduce your request rate."),
            failure(now, 380, 2, "delete_files", "S3Error", "SlowDown: Please reduce your request rate."),
            failure(
                now, 560, 1, "delete_files", "ReadTimeout", "HTTPSConnectionPool(host='s3.example', port=443): read"
            ),
        ],
    )


def running(key="delete:42"):
    return deletion(
        key, done=3, ago=95, status="running", owner=str(current()), lease_expires_at=InSeconds(47), fence=1,
        attempts=1, updated_at=InSeconds(-6),
    )  # fmt: skip


def lapsed(key="delete:43"):
    return deletion(
        key, done=1, status="running", owner=an_owner(), lease_expires_at=InSeconds(-400), fence=2, attempts=1,
        updated_at=InSeconds(-460),
    )  # fmt: skip


def held_elsewhere(key="delete:44"):
    return deletion(
        key, done=1, ago=70, status="running", owner=an_owner(), lease_expires_at=InSeconds(31), fence=1, attempts=1,
        updated_at=InSeconds(-12),
    )  # fmt: skip


def dead(key="delete:45", said="delete_customer refused: No such customer: 'cus_PdU2'"):
    now = clock.read(connection)
    return deletion(
        key, done=1, status="dead", due_at=None, settled_at=InSeconds(-600), last_error=said, fence=3, attempts=2,
        failures=[failure(now, 600, 2, "delete_customer", "Refused", "No such customer: 'cus_PdU2'")],
    )  # fmt: skip


def done(key="delete:46"):
    return deletion(key, done=5, status="done", due_at=None, settled_at=InSeconds(-30), attempts=1)


def canceled(key="delete:47"):
    return deletion(key, done=1, status="canceled", due_at=None, settled_at=InSeconds(-90), attempts=1, fence=2)


def message(key, *, status="pending", said="", attempts=0, **columns):
    """Return a message; each attempt has a record that ended, but of one that is in hand."""
    row = outbox.post("order.receipt", {"order": 7, "to": "ada@example.org"}, key=key)
    now = clock.read(connection)
    failures = [
        failure(now, 60 * (n + 1), attempts - n, "order.receipt", "SMTPServerDisconnected", said)
        for n in range(attempts)
    ]
    Message.objects.filter(pk=row.pk).update(
        status=status, last_error=said, attempts=attempts, fence=attempts, failures=failures if said else [], **columns
    )
    for number in range(attempts):
        Attempt.objects.create(
            message=row, fence=number + 1, number=number + 1, owner=an_owner("web-1", 9), started_at=InSeconds(-70),
            ended_at=InSeconds(-69), outcome="failed", code="SMTPServerDisconnected", error=said,
        )  # fmt: skip
    row.refresh_from_db()
    return row


def workers():
    Worker.objects.create(owner=str(current()), watches=True, threads=4, began_at=InSeconds(-7200))
    Worker.objects.create(
        owner=an_owner("web-1", 9), watches=False, threads=4, began_at=InSeconds(-3000), seen_at=InSeconds(-2900),
        ended_at=InSeconds(-2900),
    )  # fmt: skip


def scenes():
    """Return a run in every state, by the state's name."""
    return {
        "waiting": waiting(),
        "running": running(),
        "lapsed": lapsed(),
        "elsewhere": held_elsewhere(),
        "dead": dead(),
        "done": done(),
        "canceled": canceled(),
        "due": deletion("delete:48", ago=12),
    }
