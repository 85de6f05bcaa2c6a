"""
django-ox: its own worker command with a connection pool and four threads, as its documentation advises for throughput.

A step's effect and the next task are one transaction; the completion is another: at least once.
"""

from typing import ClassVar

from bench.django_site import configure
from bench.peers import crowded, queueing, waking
from bench.peers.django_queueing import migrate_on
from bench.peers.django_tasks_peer import enqueue_all
from bench.together import Gate

__all__ = ["Claims", "Outbox", "Steps", "Waking"]

SETTINGS = {"TASKS": {"default": {"BACKEND": "django_ox.backend.OxBackend"}}}
THREADS = 4


class _DjangoOx(queueing.QueuePeer):
    FINISHED = "SELECT count(*) FROM django_ox_oxtask WHERE status = 'SUCCESSFUL'"

    def install(self) -> None:
        migrate_on(self.url, "django_ox", **SETTINGS)

    def enqueue(self, n: int) -> None:
        enqueue_all(self.job, n)

    @staticmethod
    def work(place: int, gate: Gate, url: str) -> None:
        configure(url, "django_ox", **SETTINGS)
        from django.core.management import call_command

        gate.wait()
        call_command("ox_worker", interval=0.01, concurrency=THREADS, verbosity=0)


class Steps(_DjangoOx, queueing.Steps):
    pass


class Outbox(_DjangoOx, queueing.Outbox):
    pass


class Claims(_DjangoOx, crowded.Claims):
    DUE: ClassVar = {"django_ox_oxtask": "status = 'READY' LIMIT 1"}
    SETTLED: ClassVar = {"django_ox_oxtask": "status = 'SUCCESSFUL'"}
    KEYS = frozenset({"id"})


class Waking(_DjangoOx, waking.Waking):
    pass
