"""
django-tasks-db: its own worker command, one thread, no pause between tasks and 10 ms when idle.

A step's effect and the next task are one transaction. A worker that is killed leaves its task running for ever.
"""

from typing import ClassVar

from bench.django_site import configure
from bench.peers import crowded, queueing, waking
from bench.peers.django_queueing import migrate_on
from bench.together import Gate
from bench.work import new_key

__all__ = ["Claims", "Outbox", "Steps", "Waking"]

SETTINGS = {"TASKS": {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}}


def enqueue_all(job: str, n: int) -> None:
    """One INSERT a task, in one transaction: the tasks interface has no bulk."""
    from django.db import transaction

    from bench.peers import django_task_functions as functions

    with transaction.atomic():
        for number in range(n):
            if job == "step":
                functions.step.enqueue(str(new_key()), 1)
            else:
                functions.message.enqueue(number)


class _DjangoTasks(queueing.QueuePeer):
    FINISHED = "SELECT count(*) FROM django_tasks_database_dbtaskresult WHERE status = 'SUCCESSFUL'"

    def install(self) -> None:
        migrate_on(self.url, "django_tasks_db", **SETTINGS)

    def enqueue(self, n: int) -> None:
        enqueue_all(self.job, n)

    @staticmethod
    def work(place: int, gate: Gate, url: str) -> None:
        configure(url, "django_tasks_db", **SETTINGS)
        from django.core.management import call_command
        from django.db import connection

        connection.ensure_connection()
        gate.wait()
        call_command("db_worker", interval=0.01, startup_delay=False, reload=False, verbosity=0)


class Steps(_DjangoTasks, queueing.Steps):
    pass


class Outbox(_DjangoTasks, queueing.Outbox):
    pass


class Claims(_DjangoTasks, crowded.Claims):
    DUE: ClassVar = {"django_tasks_database_dbtaskresult": "status = 'READY' LIMIT 1"}
    SETTLED: ClassVar = {"django_tasks_database_dbtaskresult": "status = 'SUCCESSFUL'"}
    KEYS = frozenset({"id"})


class Waking(_DjangoTasks, waking.Waking):
    pass
