"""Runs whose effects can be counted, one kind for each shape the suite looks at."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from durable import Backoff, step
from durable.models import Job
from durable.steps import Step

from .far_side import FAR_SIDE

__all__ = ["Chore", "Trace"]


class Trace(models.Model):
    """One row for each time something happened in the database: what exactly once is counted by."""

    run = models.UUIDField(db_index=True)
    step = models.CharField(max_length=50)


class Chore(Job):
    """A job with every kind of step. The code that is deployed carries out those in `carried`, in that order."""

    drawn = models.IntegerField(default=0)
    handle = models.TextField(blank=True, default="")
    retry = Backoff(base=1, factor=2, cap=60, attempts=4)
    max_losses = 3

    carried: ClassVar[tuple[str, ...]] = ("draw", "call", "tell", "close")

    @step
    def draw(self):
        FAR_SIDE.begun.append((self.pk, "draw"))
        Trace.objects.create(run=self.pk, step="draw")
        FAR_SIDE.follow(self, "draw")
        return {"drawn": self.drawn + 1}

    @step(external="keyed")
    def call(self):
        handle = FAR_SIDE.call(self, "call", self.key_for("call"))
        FAR_SIDE.follow(self, "call")
        return {"handle": handle}

    @step(external="at-least-once")
    def tell(self):
        FAR_SIDE.call(self, "tell", self.key_for("tell"))
        FAR_SIDE.follow(self, "tell")

    @tell.record
    def tell(self, result):
        Trace.objects.create(run=self.pk, step="tell")

    @step
    def close(self):
        Trace.objects.create(run=self.pk, step="close")
        FAR_SIDE.follow(self, "close")

    @classmethod
    def steps(cls) -> dict[str, Step]:
        every = super().steps()
        return {name: every[name] for name in cls.carried}
