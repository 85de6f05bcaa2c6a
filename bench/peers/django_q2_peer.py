"""
django-q2 on the ORM broker: a cluster of two workers a process, polling every 10 ms, bulk claims of fifty.

A step's effect and the next task are one transaction; result and acknowledgement are two more: at least once.
"""

import multiprocessing
import time

from bench.django_site import configure
from bench.peers import queueing, waking
from bench.peers.django_queueing import effect, migrate_on
from bench.together import Gate
from bench.work import STEPS, new_key

__all__ = ["Outbox", "Steps", "Waking"]

APPS = ("django.contrib.contenttypes", "django.contrib.auth", "django_q")
CLUSTER = {
    "name": "bench",
    "orm": "default",
    "workers": 2,
    "poll": 0.01,
    "bulk": 50,
    "queue_limit": 100,
    "recycle": 1_000_000,
    "save_limit": 0,
    "retry": 600,
    "timeout": 300,
    "scheduler": False,
    "log_level": "ERROR",
}


def step(run: str, number: int) -> None:
    from django.db import transaction
    from django_q.tasks import async_task

    with transaction.atomic():
        effect(run, number)
        if number < STEPS:
            async_task("bench.peers.django_q2_peer.step", run, number + 1)


def message(order: int) -> None:
    pass


class _DjangoQ(queueing.QueuePeer):
    FINISHED = "SELECT count(*) FROM django_q_task WHERE success"

    def install(self) -> None:
        migrate_on(self.url, *APPS, Q_CLUSTER=CLUSTER)

    def enqueue(self, n: int) -> None:
        from django.db import transaction
        from django_q.tasks import async_task

        with transaction.atomic():
            for number in range(n):
                if self.job == "step":
                    async_task("bench.peers.django_q2_peer.step", str(new_key()), 1)
                else:
                    async_task("bench.peers.django_q2_peer.message", number)

    @staticmethod
    def work(place: int, gate: Gate, url: str) -> None:
        multiprocessing.set_start_method("fork", force=True)  # what it is made for; ours are spawned
        configure(url, *APPS, Q_CLUSTER=CLUSTER)
        from django_q.cluster import Cluster

        gate.wait()
        cluster = Cluster()
        cluster.start()
        while True:
            time.sleep(60)


class Steps(_DjangoQ, queueing.Steps):
    pass


class Outbox(_DjangoQ, queueing.Outbox):
    pass


class Waking(_DjangoQ, waking.Waking):
    pass
