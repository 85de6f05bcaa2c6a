"""Models of the suite's own app: small jobs whose effects can be counted."""

from django.db import models

from durable import Backoff, step
from durable.models import Job


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
