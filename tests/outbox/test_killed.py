"""Workers killed with SIGKILL while they send through a real SMTP server."""

import collections
import os
import signal
import time

import pytest
from django.core.mail import EmailMessage
from django.db import connection

from durable import outbox
from durable.contrib import email as durable_email
from durable.models import Attempt, Message
from tests.durable.actors import manage_meanwhile, until
from tests.outbox.mailserver import MailServer, sends_through, through

LEASES = {"DURABLE_LEASE": "2", "DURABLE_POLL": "0.2"}

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


class Fleet:
    """So many watching workers, each replaced when it is killed."""

    def __init__(self, workers, environment):
        self._environment = environment
        self.killed = []
        self._running = [self._start() for _ in range(workers)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self._running:
            worker.kill()
            worker.communicate()

    def _start(self):
        return manage_meanwhile(
            "reconcile", "--watch", "--threads", "2", "--kind", "durable.message", **self._environment
        )

    def kill_one(self):
        """Kill one that has sent a few; a process that still starts proves nothing. Return whether there was one."""
        sent = Attempt.objects.filter(outcome="sent").values_list("owner", flat=True)
        done = collections.Counter(owner.partition(" ")[0].partition("/")[2] for owner in sent)
        busy = {pid for pid, count in done.items() if count >= 3}
        for worker in self._running:
            if str(worker.pid) in busy:
                worker.send_signal(signal.SIGKILL)
                worker.communicate()
                self.killed.append(worker.pid)
                self._running.remove(worker)
                self._running.append(self._start())
                return True
        return False

    def stop(self):
        for worker in self._running:
            worker.send_signal(signal.SIGTERM)
        return [(worker.communicate(timeout=60)[0], worker.returncode) for worker in self._running]


@pytest.mark.parametrize(
    ("messages", "workers", "every", "most"),
    [
        pytest.param(60, 2, 0.3, 3, id="short"),
        pytest.param(300, 6, 0.5, 40, id="C12", marks=pytest.mark.long),
        pytest.param(1000, 4, 1.0, 10_000, id="issue", marks=pytest.mark.long),
    ],
)
def test_every_mail_arrives_and_twice_only_what_a_killed_worker_held(messages, workers, every, most, settings, capsys):
    sends_through(settings, 25)  # nothing is sent by this process
    for n in range(messages):
        EmailMessage(f"Message {n}", "Body", "shop@example.org", [f"user{n}@example.org"]).send()

    with MailServer(delay=0.05) as server, Fleet(workers, through(server) | LEASES) as fleet:
        began = time.monotonic()
        while Message.objects.exclude(status="sent").exists():
            time.sleep(every)
            if len(fleet.killed) < most:
                fleet.kill_one()
            assert time.monotonic() - began < 1500, collections.Counter(
                Message.objects.values_list("status", flat=True)
            )
        took = time.monotonic() - began
        ended = fleet.stop()
        delivered = collections.Counter(server.ids())

    held = {
        (str(pk), int(owner.partition("/")[2].partition(" ")[0]))
        for pk, owner in Attempt.objects.filter(outcome="unknown").values_list("message_id", "owner")
    }
    twice = {name.strip("<>").partition("@")[0]: count for name, count in delivered.items() if count > 1}
    with capsys.disabled():
        print(
            f"\n{messages} mails, {workers} workers, {len(fleet.killed)} killed in {took:.0f} s: {len(delivered)} delivered,"
            f" {sum(delivered.values()) - len(delivered)} twice, {len(held)} attempts without a word ({connection.vendor})"
        )
    assert len(delivered) == messages
    assert Message.objects.filter(status="sent").count() == messages
    assert {pid for _, pid in held} <= set(fleet.killed)
    assert set(twice) <= {pk for pk, _ in held}
    assert all(count <= 1 + sum(name == pk for pk, _ in held) for name, count in twice.items())
    # An attempt that ended has said so: each message was sent by exactly one of them, by record.
    assert Attempt.objects.filter(outcome="sent").count() == messages
    assert not Attempt.objects.filter(outcome="").exists()
    assert fleet.killed
    assert all(code in (0, -signal.SIGTERM) for _, code in ended), ended  # the latter: still starting


def test_a_worker_told_to_stop_finishes_what_it_sends_and_burns_nothing(settings):
    sends_through(settings, 25)  # nothing is sent by this process
    for n in range(40):
        EmailMessage(f"Message {n}", "Body", "shop@example.org", [f"user{n}@example.org"]).send()
    with MailServer(delay=0.2) as server:
        worker = manage_meanwhile("reconcile", "--watch", "--threads", "2", **through(server))
        until(lambda: len(server.taken) >= 5, within=60)
        worker.send_signal(signal.SIGTERM)
        said, _ = worker.communicate(timeout=60)

    assert worker.returncode == 0, said
    counts = collections.Counter(Message.objects.values_list("status", flat=True))
    assert counts["processing"] == 0
    assert counts["sent"] == len(server.taken) >= 5
    assert set(Message.objects.filter(status="pending").values_list("attempts", flat=True)) == {0}


def test_the_handler_of_mails_is_known_to_every_process_whose_settings_name_the_backend():
    assert outbox.find(durable_email.TOPIC) is not None
    assert os.environ["DATABASE_URL"]
