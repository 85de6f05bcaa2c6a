"""The measured operation as a user of the library writes it: five database steps, each inserting one row."""

import time
from typing import ClassVar

from django.db import connection, models

from bench.work import BODY, INSERT_EFFECT
from durable import step
from durable.models import Job

__all__ = ["Effect", "Hanging", "Insertion", "OrmInsertion", "Woken"]


class Effect(models.Model):
    run = models.TextField()
    step = models.IntegerField()
    body = models.TextField()

    class Meta:
        managed = False
        db_table = "bench_effect"

    def __str__(self) -> str:
        return f"step {self.step} of {self.run}"


class Insertion(Job):
    """Each step inserts through a cursor."""

    def insert(self, number: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(INSERT_EFFECT, [str(self.pk), number, BODY])

    @step
    def first(self) -> None:
        self.insert(1)

    @step
    def second(self) -> None:
        self.insert(2)

    @step
    def third(self) -> None:
        self.insert(3)

    @step
    def fourth(self) -> None:
        self.insert(4)

    @step
    def fifth(self) -> None:
        self.insert(5)


class OrmInsertion(Job):
    """Each step inserts with the ORM."""

    def insert(self, number: int) -> None:
        Effect.objects.create(run=str(self.pk), step=number, body=BODY)

    @step
    def first(self) -> None:
        self.insert(1)

    @step
    def second(self) -> None:
        self.insert(2)

    @step
    def third(self) -> None:
        self.insert(3)

    @step
    def fourth(self) -> None:
        self.insert(4)

    @step
    def fifth(self) -> None:
        self.insert(5)


class Woken(Job):
    """W5: the one step notes when it began, by the machine's clock."""

    @step
    def only(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(INSERT_EFFECT, [str(self.pk), 1, repr(time.time())])


class Hanging(Job):
    """W6: the first step hangs in the process that is to be killed."""

    seconds: ClassVar[float] = 0.0

    @step
    def first(self) -> None:
        if type(self).seconds:
            self.tell()
            time.sleep(type(self).seconds)
        with connection.cursor() as cursor:
            cursor.execute(INSERT_EFFECT, [str(self.pk), 1, BODY])

    @step
    def last(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(INSERT_EFFECT, [str(self.pk), 2, BODY])

    def tell(self) -> None:
        """Say on a connection of its own that the process is inside the step."""
        other = connection.copy()
        with other.cursor() as cursor:
            cursor.execute(INSERT_EFFECT, [f"inside {self.pk}", 0, BODY])
        other.close()
