"""
Jobs of the crash suite. What happens in the database is a row in Effect; what happens outside is a line in a file.
"""

import os
import threading
from pathlib import Path

from django.db import connections, models

from durable import Backoff, Refused, Wait, step
from durable.models import Job


class Effect(models.Model):
    """One row for each time something happened in the database."""

    run = models.UUIDField(db_index=True)
    name = models.CharField(max_length=50)

    class Meta:
        app_label = "crash"


#: Bodies that were called in this process, by name.
CALLED: list[str] = []


def effect(job, name: str) -> None:
    """Let something happen in the job's database."""
    CALLED.append(name)
    Effect.objects.using(job._state.db or "default").create(run=job.pk, name=name)


def outside(run, name: str) -> None:
    """Let something happen where no transaction reaches: one line, whole or not at all, in the ledger's file."""
    CALLED.append(f"outside {name}")
    wire = os.open(os.environ["CRASH_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        key = run.key_for(name) if hasattr(run, "key_for") else run.key
        os.write(wire, f"{run.pk} {name} {key}\n".encode())
    finally:
        os.close(wire)


def last(seconds: float) -> None:
    """Take so long. Not by time.sleep, which fails in a process whose clock is faked."""
    threading.Event().wait(seconds)


class Parcel(Job):
    """Every kind of step: a database step that returns a field, an external one with a record, a last database step."""

    grams = models.IntegerField(default=0)
    retry = Backoff(base=0.2, factor=1, cap=60)

    @step
    def weigh(self):
        effect(self, "weigh")
        return {"grams": 250}

    @step(external="keyed")
    def ship(self):
        outside(self, "ship")
        return "tracking 7"

    @ship.record
    def ship(self, tracking):
        effect(self, "ship")

    @step
    def bill(self):
        effect(self, "bill")

    class Meta:
        app_label = "crash"


class Move(Job):
    """Database steps one after the other, so that a COMMIT and the next receipt are one message."""

    @step
    def pack(self):
        effect(self, "pack")

    @step
    def carry(self):
        effect(self, "carry")

    @step
    def unpack(self):
        effect(self, "unpack")

    class Meta:
        app_label = "crash"


class Chore(Job):
    """A step that lasts, in the way its field says, between two that do not."""

    how = models.CharField(max_length=20, default="sleep")
    seconds = models.FloatField(default=0.0)
    limit = models.FloatField(default=0.0)
    retry = Backoff(base=0.2, factor=1, cap=60)

    @step
    def begin(self):
        effect(self, "begin")

    @step
    def last_long(self):
        effect(self, "last_long")
        if "CRASH_LEDGER" in os.environ:
            Path(os.environ["CRASH_LEDGER"] + ".long").touch()  # for who must not come before it
        if self.how == "query":
            with connections[self._state.db].cursor() as cursor:
                cursor.execute("SELECT pg_sleep(%s)", [self.seconds])
        else:
            last(self.seconds)
        effect(self, "lasted")

    @step
    def finish(self):
        effect(self, "finish")

    class Meta:
        app_label = "crash"


class Call(Job):
    """An external step that lasts."""

    seconds = models.FloatField(default=0.0)
    retry = Backoff(base=0.2, factor=1, cap=60)

    @step(external="at-least-once")
    def ring(self):
        outside(self, "ring")
        last(self.seconds)

    @step
    def hang_up(self):
        effect(self, "hang_up")

    class Meta:
        app_label = "crash"


class Trouble(Job):
    """One step that does the harm its field names, until the file it names exists."""

    harm = models.CharField(max_length=20)
    until = models.CharField(max_length=200, blank=True, default="")
    retry = Backoff(base=60, cap=60, jitter=0.5)

    @step
    def harm_somebody(self):
        if self.until and Path(self.until).exists():
            return
        HARM[self.harm]()

    class Meta:
        app_label = "crash"


def _kill_this_process() -> None:
    os.kill(os.getpid(), 9)


def _fill_memory() -> None:
    hoard = []
    while True:
        hoard.append(bytearray(16 * 1024 * 1024))


def _fail() -> None:
    raise RuntimeError("no")


def _say_the_unsayable() -> None:
    raise ValueError("x\x00y\ud83d" + "z" * 5_000_000)


def _wait() -> None:
    raise Wait(3600, "\x00\udfff" + "w" * 3_000_000)


def _refuse() -> None:
    raise Refused("\x00\udfff" + "r" * 3_000_000)


HARM = {"kill": _kill_this_process, "memory": _fill_memory, "fail": _fail, "text": _say_the_unsayable,
        "wait": _wait, "refuse": _refuse}  # fmt: skip
