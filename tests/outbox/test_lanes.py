"""Lanes: no topic waits for another, limits count live leases, keys keep their order."""

import threading
import time

import pytest
from django.db import connection

from durable import Backoff, Refused, outbox
from durable.attempt import Outcome
from durable.contract import claim
from durable.models import Attempt, Message
from durable.runner import Reconciler
from durable.shutdown import Shutdown
from durable.testing import expire_leases
from tests.durable.actors import Meanwhile
from tests.outbox.conftest import drain, make_due, take

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def watching():
    """A watching worker in a thread; stopped at the end."""
    shutdown = Shutdown(grace=1)
    workers = []

    def start(threads):
        reconciler = Reconciler([Message], shutdown, threads=threads)
        reconciler.prepare()
        workers.append(Meanwhile(reconciler.watch, 0.05))
        return reconciler

    yield start
    shutdown.asked.set()
    for worker in workers:
        worker.result()


def until(fact, seconds=15):
    give_up = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < give_up, "it never became so"
        time.sleep(0.02)


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.postgres
def test_one_slow_topic_never_blocks_the_others(topic, far_side, watching, threads):
    """A13."""
    hang = threading.Event()
    outbox.post_many(topic("slow", send=lambda message: hang.wait(30)), [{}] * 20)
    topic("quick")
    watching(threads)
    until(lambda: Message.objects.filter(topic="slow", status="processing").exists())

    outbox.post_many("quick", [{}] * 30)
    try:
        until(lambda: Message.objects.filter(topic="quick", status="sent").count() == 30)
        assert not Message.objects.filter(topic="slow", status="sent").exists()
    finally:
        hang.set()


@pytest.mark.postgres
def test_a_quick_topic_that_suddenly_hangs_leaves_a_thread_to_the_others(topic, far_side, watching):
    hang, hangs = threading.Event(), []

    def send(message):
        if hangs:
            hang.wait(30)

    outbox.post_many(topic("slow", send=send), [{}] * 20)
    topic("quick")
    watching(3)
    until(lambda: Message.objects.filter(topic="slow", status="sent").count() == 20)
    hangs.append(1)
    outbox.post_many("slow", [{}] * 40)
    until(lambda: Message.objects.filter(topic="slow", status="processing").count() >= 2)

    outbox.post_many("quick", [{}] * 10)
    try:
        until(lambda: Message.objects.filter(topic="quick", status="sent").count() == 10)
    finally:
        hang.set()


@pytest.mark.postgres
def test_concurrency_counts_live_leases_over_all_workers(topic, watching):
    busy, most, lock = [0], [0], threading.Lock()

    def send(message):
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.02)
        with lock:
            busy[0] -= 1

    outbox.post_many(topic(send=send, concurrency=2), [{}] * 40)
    for _ in range(3):
        watching(4)

    until(lambda: Message.objects.filter(status="sent").count() == 40, 30)
    assert most[0] == 2


def test_a_worker_that_was_killed_frees_its_place_when_its_lease_lapses(topic, far_side):
    from durable.messages import Message as Model

    outbox.post_many(topic(concurrency=1), [{}] * 2)
    lane = next(lane for lane in Model.lanes("default") if lane.name == "news")
    with lane.admission() as room:
        batch = claim(Message, using="default", owner="gone/1", lease=60, limit=room.left, taking=lane.taking())
        room.took(batch)
    drain()
    assert far_side.calls == []  # its place is taken

    expire_leases()
    drain()

    assert Message.objects.filter(status="sent").count() == 2


def test_messages_of_one_ordering_key_are_sent_in_the_order_they_were_posted(topic, far_side):
    topic(backoff=Backoff(base=60))
    for n in range(10):
        outbox.post("news", {"n": n}, ordering_key="a", key=f"a{n}")
    outbox.post_many("news", [{"n": n} for n in range(5)], ordering_keys=["b"] * 5, keys=[f"b{n}" for n in range(5)])
    far_side.answers = [ValueError("no")] * 2

    for _ in range(3):
        drain()
    blocked = list(far_side.keys)
    make_due()
    for _ in range(20):
        drain()

    assert sorted(blocked) == ["a0", "b0"]  # both failed, and nobody overtook them
    assert [key for key in far_side.keys if key[0] == "a"] == ["a0", *(f"a{n}" for n in range(10))]
    assert [key for key in far_side.keys if key[0] == "b"] == ["b0", *(f"b{n}" for n in range(5))]


def test_a_message_that_is_given_up_no_longer_holds_up_those_behind_it(topic, far_side):
    far_side.answers = [Refused("no such address")]
    topic()
    outbox.post_many("news", [{}] * 2, ordering_keys=["a", "a"], keys=["a0", "a1"])

    assert "behind a0" in Message.objects.get(key="a1").explain()
    drain()
    drain()

    assert list(Message.objects.order_by("ordinal").values_list("status", flat=True)) == ["failed", "sent"]


def test_what_stands_behind_another_is_not_claimed_even_in_one_batch(topic, far_side):
    from durable.messages import Message as Model

    topic()
    outbox.post_many("news", [{}] * 6, ordering_keys=["a", "a", "", "b", "", "b"])
    lane = next(lane for lane in Model.lanes("default") if lane.name == "news")

    taken = claim(Message, using="default", owner="x/1", lease=60, limit=10, taking=lane.taking())

    assert sorted(run.ordering_key for run, _ in taken) == ["", "", "a", "b"]


def test_a_batch_is_handed_over_in_one_call_and_settled_in_one_statement(topic):
    calls, statements = [], []

    def send(messages):
        calls.append([message.key for message in messages])
        return {message.key: f"id-{message.key}" for message in messages}

    outbox.post_many(topic(send=send, batch=100), [{}] * 250, keys=[f"k{n:03}" for n in range(250)])

    def around(execute, sql, params, many, context):
        if 'UPDATE "durable_message" AS run SET' in sql and "mine" in sql:
            statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(around):
        report = drain()

    assert sorted(len(call) for call in calls) == [50, 100, 100]
    assert report.outcomes == {Outcome.DONE: 250}
    assert all(message.provider_id == f"id-{message.key}" for message in Message.objects.all())
    assert Attempt.objects.filter(outcome="sent", provider_id__startswith="id-k").count() == 250
    if connection.vendor == "postgresql":
        assert len(statements) == 3
        assert all('run."fence" = mine."fence"' in sql for sql in statements)


def test_one_message_of_a_batch_can_fail_without_the_others(topic):
    def send(messages):
        return {"k1": ValueError("no"), "k2": Refused("never"), "k0": "id"}

    outbox.post_many(topic(send=send, batch=10), [{}] * 4, keys=[f"k{n}" for n in range(4)])

    drain()

    found = dict(Message.objects.values_list("key", "status"))
    assert found == {"k0": "sent", "k1": "pending", "k2": "failed", "k3": "sent"}
    assert dict(Attempt.objects.values_list("message__key", "outcome")) == {
        "k0": "sent", "k1": "failed", "k2": "refused", "k3": "sent",
    }  # fmt: skip


def test_a_batch_that_raises_counts_one_attempt_for_each(topic):
    def send(messages):
        raise OSError("down")

    outbox.post_many(topic(send=send, batch=10, attempts=2), [{}] * 3)

    assert drain().outcomes == {Outcome.FAILED: 3}
    make_due()
    drain()

    assert Message.objects.filter(status="dead", attempts=2).count() == 3


def test_what_was_lost_out_of_a_batch_is_left_to_its_new_owner(topic):
    def send(messages):
        lost = next(message for message in messages if message.key == "k1")
        expire_leases(lost)
        take(lost)
        return {message.key: "ours" for message in messages}

    outbox.post_many(topic(send=send, batch=10), [{}] * 3, keys=["k0", "k1", "k2"])

    report = drain()

    assert report.outcomes == {Outcome.DONE: 2, Outcome.LOST: 1}
    taken = Message.objects.get(key="k1")
    assert (taken.status, taken.fence, taken.provider_id) == ("processing", 2, "")


def test_a_batch_handler_that_ends_the_process_uses_up_attempts(topic):
    def send(messages):
        raise SystemExit(1)

    outbox.post_many(topic(send=send, batch=10), [{}] * 3)

    with pytest.raises(SystemExit):
        drain()

    assert Message.objects.filter(status="pending", lease_expires_at=None).count() == 3
    assert Message.objects.filter(attempts=1).count() >= 1


@pytest.mark.postgres
def test_a_claim_of_one_takes_one_whatever_the_planner_does(topic):
    """C42."""
    from durable.messages import Message as Model

    outbox.post_many(topic(), [{}] * 20)
    lane = next(lane for lane in Model.lanes("default") if lane.name == "news")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE durable_message")
        for switch in ("hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize"):
            cursor.execute(f"SET enable_{switch} = off")
    try:
        taken = claim(Message, using="default", owner="x/1", lease=60, limit=1, taking=lane.taking())
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET ALL")

    assert len(taken) == 1
    assert Message.objects.filter(status="pending", fence=0).count() == 19


def test_messages_that_stood_behind_a_hung_one_are_sent_elsewhere(topic, settings, monkeypatch):
    monkeypatch.setattr("durable.runner._QUICK", 60.0)
    settings.DURABLE = {**settings.DURABLE, "LEASE": 2.0}
    hang, hangs = threading.Event(), threading.Event()

    def send(message):
        if message.payload["hangs"] and not hangs.is_set():
            hangs.set()
            hang.wait(60)

    topic(send=send)
    outbox.post_many("news", [{"hangs": False}] * 7)
    outbox.post("news", {"hangs": True})
    outbox.post_many("news", [{"hangs": False}] * 4)
    first = Meanwhile(drain)
    assert hangs.wait(30)

    until(lambda: (drain(), Message.objects.filter(status="sent").count())[1] == 11, 40)
    hang.set()
    first.result()

    assert Message.objects.filter(status="sent").count() == 12
