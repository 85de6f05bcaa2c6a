"""The two tasks of the peers that speak Django's tasks interface: a step that enqueues the next, and a message."""

try:
    from django.tasks import task
except ImportError:  # Django 5.2
    from django_tasks import task

from django.db import transaction

from bench.peers.django_queueing import effect
from bench.work import STEPS

__all__ = ["message", "step"]


@task()
def step(run: str, number: int) -> None:
    with transaction.atomic():
        effect(run, number)
        if number < STEPS:
            step.enqueue(run, number + 1)


@task()
def message(order: int) -> None:
    pass
