"""
Steps whose COMMIT goes in one message with the next receipt: killed at each message, and each COMMIT lost.

The boundaries of the other tests are those of Django's cursors, where nothing is chained. These are the wire's.
"""

import contextlib
import itertools
import os
import signal
from collections import Counter

import pytest
from django.core.management import call_command
from django.db import connections

from . import results
from .app import models
from .app.models import Effect, Move
from .proxy import Proxy
from .server import orm_on

pytestmark = pytest.mark.postgres
STEPS = ["pack", "carry", "unpack"]


class Deadly(Proxy):
    """Kills a process as its n-th message is on the way, before the server has it or when the server has answered."""

    victim: int | None = None
    number = 0
    when_answered = False
    seen = 0

    def passes(self, *, from_client: bool) -> bool:
        if self.victim is None:
            return True
        due = self.seen == self.number + (not from_client) and from_client is not self.when_answered
        self.seen += from_client
        if due:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.victim, signal.SIGKILL)
            self.victim = None
        return not due


def receipts(job) -> list[str]:
    row = Move.objects.filter(pk=job.pk).values(*(f"{name}_at" for name in STEPS)).get()
    return [name for name in STEPS if row[f"{name}_at"] is not None]


def effects(job) -> list[str]:
    return list(Effect.objects.filter(run=job.pk).order_by("pk").values_list("name", flat=True))


def dies(work, proxy, url: str, number: int) -> bool:
    """Do it in a process that dies at that message. Return whether it came so far."""
    connections.close_all()
    ready, go = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.read(ready, 1)
            with orm_on(url):
                work()
        finally:
            os._exit(0)
    proxy.number, proxy.seen, proxy.victim = number, 0, pid
    os.write(go, b".")
    os.close(go)
    os.close(ready)
    status = os.waitpid(pid, 0)[1]
    proxy.victim = None
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("when_answered", [False, True], ids=["not arrived", "answered"])
def test_a_process_killed_at_any_message_leaves_each_receipt_with_its_effect(when_answered, server, workers):
    left = Counter()
    with Deadly(server.port) as proxy:
        proxy.when_answered = when_answered
        number = 0
        while True:
            job = Move.objects.start()
            if not dies(job.run, proxy, server.url_at(proxy.port), number):
                break
            assert receipts(job) == effects(job)
            left[len(receipts(job))] += 1

            call_command("reconcile", verbosity=0)

            assert receipts(job) == effects(job) == STEPS
            number += 1

    assert {*left} >= {0, 1, 2}
    assert receipts(job) == effects(job) == STEPS
    print(f"killed at {number} messages, with so many receipts left: {dict(left)}")


def run_at_once(key: str):
    connections["default"].ensure_connection()  # only on an open one is a run begun ahead
    return Move.objects.run(key=key)


@pytest.mark.parametrize("when_answered", [False, True], ids=["not arrived", "answered"])
def test_a_run_at_once_killed_at_any_message_is_whole_or_not_there(when_answered, server, workers):
    left, key = Counter(), ""
    with Deadly(server.port) as proxy:
        proxy.when_answered = when_answered
        for number in itertools.count():
            key = f"at once {when_answered} {number}"
            before = Effect.objects.count()
            if not dies(lambda key=key: run_at_once(key), proxy, server.url_at(proxy.port), number):
                break
            job = Move.objects.filter(key=key).first()
            done = [] if job is None else receipts(job)
            assert Effect.objects.count() - before == len(done)
            left["not there" if job is None else len(done)] += 1

            call_command("reconcile", verbosity=0)
            job = Move.objects.run(key=key)

            assert receipts(job) == effects(job) == STEPS
            assert job.status == "done"

    assert {*left} >= {"not there", 0, 1, 2}
    job = Move.objects.get(key=key)
    assert receipts(job) == effects(job) == STEPS
    print(f"killed at {number} messages, with so many receipts left: {dict(left)}")


@pytest.mark.parametrize("arrived", [True, False], ids=["answer lost", "commit lost"])
def test_a_lost_chained_commit_is_settled_by_reading_the_receipt(arrived, server, workers):
    with Proxy(server.port) as proxy, orm_on(server.url_at(proxy.port)):
        for lost in range(len(STEPS)):
            job = Move.objects.start()
            models.CALLED.clear()
            proxy.commits, proxy.lose_commit, proxy.lose_before = 0, lost, not arrived

            assert job.run()

            proxy.lose_commit = None
            assert (job.failures, job.attempts) == ([], 1)
            assert receipts(job) == effects(job) == STEPS
            again = [] if arrived else [STEPS[lost]]
            assert Counter(models.CALLED) == Counter(STEPS + again)
        connections.close_all()
    results.keep("matrix", f"chained {'answer to COMMIT' if arrived else 'COMMIT'} lost, job", database="PostgreSQL",
                 boundaries=len(STEPS), lost=0, doubled=0, outside_repeats=0,
                 **{"by itself": len(STEPS), "by the next boot pass": 0})  # fmt: skip
