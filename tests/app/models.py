"""Models of the suite's own app: small jobs whose effects can be counted."""

import uuid
from datetime import UTC, datetime
from decimal import Decimal

from django.db import models

from durable import Backoff, step
from durable.models import Job

from .orders import obey, write_line


class Effect(models.Model):
    """One row for each time something happened: what exactly once is counted by."""

    run = models.UUIDField(db_index=True)
    name = models.CharField(max_length=50)


def effect(job, name: str) -> None:
    """Let something happen in the job's database."""
    Effect.objects.using(job._state.db or "default").create(run=job.pk, name=name)


class Errand(Job):
    """Five database steps."""

    note = models.TextField(blank=True, default="")
    retry = Backoff(base=1, cap=3600)

    @step
    def one(self):
        effect(self, "one")

    @step
    def two(self):
        effect(self, "two")

    @step
    def three(self):
        effect(self, "three")

    @step
    def four(self):
        effect(self, "four")

    @step
    def five(self):
        effect(self, "five")


class Commanded(Job):
    """A database step, an external step, a database step; a test says what happens in each."""

    orders = models.JSONField(default=dict, blank=True)
    note = models.TextField(blank=True, default="")
    retry = Backoff(base=30, factor=4, cap=3600)

    class Meta(Job.Meta):
        abstract = True

    @step
    def one(self):
        effect(self, "one")
        return obey(self, "one")

    @step(external="idempotent")
    def two(self):
        return obey(self, "two")

    @step
    def three(self):
        effect(self, "three")
        return obey(self, "three")


class Told(Commanded):
    """Tried until done. It inherits no Meta on purpose: forgetting it must lose nothing."""


class Budgeted(Commanded):
    """Two attempts a step, and two lost workers."""

    retry = Backoff(base=5, factor=1, jitter=0, attempts=2)
    max_losses = 2


class Account(models.Model):
    """What a job blocks while it is in flight."""

    name = models.CharField(max_length=50, unique=True)
    blocked = models.BooleanField(default=False)


class Closing(Commanded):
    """One at a time for each account; the account is blocked from the start to the end, or to the cancellation."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE)
    one_in_flight = ["account"]

    def on_start(self):
        Account.objects.filter(pk=self.account_id).update(blocked=True)

    def on_cancel(self):
        Account.objects.filter(pk=self.account_id).update(blocked=False)


class Posting(Job):
    """Every guarantee an external step can state, with and without a record body; its calls are lines in a file."""

    calls = models.CharField(max_length=500)
    reference = models.CharField(max_length=100, blank=True, default="")

    @step(external="keyed")
    def reserve(self):
        self._call("reserve")

    @step(external="keyed")
    def charge(self):
        return {"reference": self._call("charge")}

    @charge.record
    def charge(self, result):
        effect(self, f"charged {result['reference']}")

    @step
    def note_it(self):
        effect(self, f"noted {self.reference}")

    @step(external="idempotent")
    def sync(self):
        return self._call("sync")

    @sync.record
    def record_sync(self, result):
        effect(self, "synced")
        return {"reference": f"{self.reference} then {result}"}

    @step(external="at-least-once")
    def mail(self):
        self._call("mail")

    def _call(self, name: str) -> str:
        key = self.key_for(name)
        write_line(self.calls, f"{self.pk} {name} {key}")
        return f"answer to {name}"


class Typed(Job):
    """Fields of every type that a careless encoding would change between two steps."""

    amount = models.DecimalField(max_digits=20, decimal_places=2, null=True)
    uid = models.UUIDField(null=True)
    at = models.DateTimeField(null=True)
    large = models.DecimalField(max_digits=30, decimal_places=0, null=True)
    ratio = models.FloatField(null=True)
    listed = models.JSONField(default=list)
    seen = models.TextField(blank=True, default="")

    @step
    def learn(self):
        return {
            "amount": Decimal("10.10"),
            "uid": uuid.UUID(int=1),
            "at": datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
            "large": 2**63 + 1,
            "ratio": 1.0,
            "listed": ("a", 1),
        }

    @step
    def repeat(self):
        return {"seen": repr([self.amount, self.uid, self.at, self.large, self.ratio, self.listed])}


class Relay(Job):
    """Version 2 of a job that was [a, b, c]: `a2` was put in between, and `old` was dropped on purpose."""

    retired_steps = ["old"]

    @step
    def a(self):
        effect(self, "a")

    @step
    def a2(self):
        effect(self, "a2")

    @step
    def b(self):
        effect(self, "b")

    @step(at="c_finished")
    def c(self):
        effect(self, "c")


class Ticket(Commanded):
    """A job with constraints and relations of its own."""

    number = models.CharField(max_length=20, unique=True)
    account = models.ForeignKey(Account, null=True, on_delete=models.SET_NULL)
