"""The receipt of one message records that the attempt of the next begins: what that may and may not lead to."""

import threading

import pytest
from django.db import OperationalError, connection

from durable import outbox, signals
from durable.attempt import Outcome
from durable.models import Attempt, Message
from durable.runner import Reconciler
from durable.shutdown import Shutdown
from durable.testing import expire_leases
from tests.durable.actors import Meanwhile
from tests.outbox.conftest import take

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stopped():
    return Shutdown(grace=5)


@pytest.fixture
def drained(stopped):
    """Drain with claims of many from the start; return the report."""

    def run(**options):
        worker = Reconciler([Message], stopped, threads=1, **options)
        worker._paces.default_factory = _quick
        worker.prepare()
        return worker.run_pass()

    return run


def _quick():
    from durable.runner import _Pace

    return _Pace(at_once=8)


@pytest.fixture
def when_settled():
    """Call that after each message that was settled, before its worker turns to the next."""
    called = []

    def receiver(sender, run, **_):
        for one in called:
            one(run)

    signals.run_settled.connect(receiver)
    yield called.append
    signals.run_settled.disconnect(receiver)


def begun(outcome=""):
    return set(Attempt.objects.filter(outcome=outcome).values_list("message__key", flat=True))


def test_at_every_send_what_was_sent_is_recorded_and_this_attempt_and_no_other_is_begun(topic, drained):
    seen = []

    def send(message):
        others = Meanwhile(lambda: (begun(), begun("sent"))).result()
        seen.append((message.key, *others))

    outbox.post_many(topic(send=send), [{}] * 8, keys=[f"k{n}" for n in range(8)])

    assert drained().outcomes == {Outcome.DONE: 8}

    before = set()
    for key, open_ones, sent in seen:
        assert open_ones == {key}
        assert sent == before
        before.add(key)
    assert len(before) == 8


def test_who_was_asked_to_stop_sends_what_is_begun_and_gives_back_the_rest_untouched(
    topic, far_side, drained, stopped, when_settled
):
    when_settled(lambda run: stopped.asked.set())
    outbox.post_many(topic(), [{}] * 5)

    report = drained()

    assert len(far_side.calls) == 2  # the first, and the one whose attempt its receipt had begun
    assert report.outcomes == {Outcome.DONE: 2, Outcome.INTERRUPTED: 3}
    left = Message.objects.exclude(status="sent")
    assert set(left.values_list("status", "attempts", "losses", "lease_expires_at")) == {("pending", 0, 0, None)}
    assert begun() == set()
    assert begun("sent") == set(Message.objects.filter(status="sent").values_list("key", flat=True))


def test_who_is_asked_to_stop_during_a_send_begins_no_other(topic, far_side, drained, stopped):
    def send(message):
        far_side(message)
        stopped.asked.set()

    outbox.post_many(topic(send=send), [{}] * 3)

    report = drained()

    assert len(far_side.calls) == 1
    assert report.outcomes == {Outcome.DONE: 1, Outcome.INTERRUPTED: 2}
    assert Attempt.objects.count() == 1


def test_a_message_that_somebody_else_took_is_not_begun_with_the_receipt_of_the_one_before(topic, drained):
    keys, sent = [f"k{n}" for n in range(3)], []

    def send(message):
        if not sent:
            others = Message.objects.filter(status="processing").exclude(key=message.key)
            other = others.order_by("due_at", "pk").first()
            for one in others:
                expire_leases(one)
            taken.append(other.key)
            take(other)
        sent.append(message.key)

    taken = []
    outbox.post_many(topic(send=send), [{}] * 3, keys=keys)

    report = drained()

    # Those behind had lapsed leases: begun by nobody, and renewed before they were sent, but for the one that was taken.
    assert report.outcomes == {Outcome.DONE: 2, Outcome.LOST: 1}
    assert taken[0] not in sent
    row = Message.objects.get(key=taken[0])
    assert (row.status, row.fence, row.owner) == ("processing", 2, "somewhere/1")
    assert not Attempt.objects.filter(message=row).exists()


def test_a_message_whose_lease_has_lapsed_is_not_begun_with_the_receipt_of_the_one_before(topic, drained, when_settled):
    open_ones = []

    def send(message):
        if not open_ones:
            for other in Message.objects.exclude(key=message.key):
                expire_leases(other)

    when_settled(lambda run: open_ones.append(begun()))
    outbox.post_many(topic(send=send), [{}] * 3)

    assert drained().outcomes == {Outcome.DONE: 3}
    assert open_ones[0] == set()  # nobody else took it: renewed, and begun when its turn came


def test_what_was_begun_long_ago_is_asked_for_again_before_it_is_sent(topic, drained, when_settled, monkeypatch):
    """A receiver of signals took its time, and the lease of the next message meanwhile another worker."""
    monkeypatch.setattr("durable.sending._BELIEVED", 0.0)
    sent = []

    def steal(run):
        if not stolen:
            other = Message.objects.get(pk__in=Attempt.objects.filter(outcome="").values("message"))
            stolen.append(other.key)
            expire_leases(other)
            take(other)

    stolen = []
    when_settled(steal)
    outbox.post_many(topic(send=lambda message: sent.append(message.key)), [{}] * 3)

    report = drained()

    assert report.outcomes == {Outcome.DONE: 2, Outcome.LOST: 1}
    assert stolen[0] not in sent


def test_a_failed_message_begins_no_other_and_the_next_begins_by_itself(topic, far_side, drained):
    far_side.answers = [ValueError("no")]
    outbox.post_many(topic(), [{}] * 3)

    assert drained().outcomes == {Outcome.FAILED: 1, Outcome.DONE: 2}

    assert begun() == set()
    assert len(far_side.calls) == 3


def test_a_receipt_that_fails_once_is_written_and_the_next_is_begun_by_itself(topic, far_side, drained):
    left = [1]

    def around(execute, sql, params, many, context):
        if '"settled_at" = ' in sql and left[0]:
            left[0] -= 1
            raise OperationalError("server closed the connection unexpectedly")
        return execute(sql, params, many, context)

    outbox.post_many(topic(), [{}] * 3)

    with connection.execute_wrapper(around):
        report = drained()

    assert report.outcomes == {Outcome.DONE: 3}
    assert len(far_side.calls) == 3
    assert Attempt.objects.filter(outcome="sent").count() == Attempt.objects.count() == 3


def test_a_message_whose_attempt_is_begun_keeps_its_lease_and_those_behind_it_are_given_back(topic, drained, settings):
    """The one in hand is renewed as long as it takes; nobody waits behind it for longer than a third of a lease."""
    settings.DURABLE = {**settings.DURABLE, "LEASE": 1.5}
    hang, sent = threading.Event(), []

    def send(message):
        sent.append(message.key)
        if len(sent) == 2:
            hang.wait(20)

    outbox.post_many(topic(send=send), [{}] * 4)
    worker = Meanwhile(drained)
    give_up = threading.Event()
    for _ in range(200):
        if Message.objects.filter(status="pending", fence=1).count() == 2:
            break
        give_up.wait(0.05)
    held = Message.objects.get(status="processing")
    free = Message.objects.filter(status="pending")

    assert set(free.values_list("attempts", "lease_expires_at")) == {(0, None)}
    assert Attempt.objects.filter(outcome="").get().message_id == held.pk
    hang.set()
    worker.result()
    assert Message.objects.get(pk=held.pk).status == "sent"
