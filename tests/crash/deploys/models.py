"""
One job class in several versions: which one this process has is in its environment, as with code that was deployed.

All versions write one table, made by the version with the most columns, as after a migration that only adds.
"""

import os

from django.db import models

from durable import Backoff, step
from durable.models import Job
from tests.crash.app.models import effect

VERSION = os.environ["CRASH_VERSION"]


class Order(Job):
    note = models.CharField(max_length=20, blank=True, default="")
    retry = Backoff(base=0.2, factor=1, cap=60)

    if VERSION == "reordered":

        @step
        def c(self):
            effect(self, "c")

        @step
        def b(self):
            effect(self, "b")

    @step
    def a(self):
        effect(self, "a")

    if VERSION == "added":

        @step
        def a2(self):
            effect(self, "a2")

    if VERSION in ("old", "added"):

        @step
        def b(self):
            effect(self, "b")

    if VERSION == "renamed":

        @step(at="b_at")
        def better(self):
            effect(self, "b")

    if VERSION != "reordered":

        @step
        def c(self):
            effect(self, "c")

    if VERSION in ("retired", "renamed"):
        retired_steps = ["b"]

    class Meta:
        app_label = "deploys"
