"""Who may write a message, and what a late word is worth."""

import contextlib
import os
import threading
import time

import pytest
from django.db import InterfaceError, OperationalError, connection, connections

from durable import LostLease, message_log, outbox, recording
from durable.attempt import Outcome, attempt
from durable.models import Attempt, Message
from durable.testing import assert_survives, expire_leases, in_child, run_until_settled
from tests.app.models import Effect, effect
from tests.durable.actors import Meanwhile
from tests.outbox.conftest import drain, make_due, take

pytestmark = pytest.mark.django_db(transaction=True)


def everything(message):
    return Message.objects.filter(pk=message.pk).values().get()


def test_a_worker_that_lost_its_lease_while_sending_writes_nothing_on_the_message(topic, far_side):
    def send(message):
        far_side(message)
        if len(far_side.calls) == 1:
            expire_leases(message)
            take(message)
            seen.append(everything(message))
        return f"id-{len(far_side.calls)}"

    seen = []
    message = outbox.post(topic(send=send), {}, key="k")

    assert drain().outcomes == {Outcome.LOST: 1}

    assert everything(message) == seen[0]
    record = Attempt.objects.get(fence=1)
    assert (record.outcome, record.provider_id) == ("sent", "id-1")  # what the world saw is told all the same


def test_what_an_earlier_owner_has_sent_and_told_is_settled_and_not_sent_again(topic, far_side):
    def send(message):
        far_side(message)
        expire_leases(message)
        other.append(take(message))
        return "id-1"

    other = []
    message = outbox.post(topic(send=send), {}, key="k")
    assert drain().outcomes == {Outcome.LOST: 1}

    assert attempt(*other[0]) is Outcome.DONE

    message.refresh_from_db()
    assert (message.status, message.provider_id, message.fence) == ("sent", "id-1", 2)
    assert far_side.keys == ["k"]


def test_an_error_of_a_worker_that_lost_its_lease_writes_nothing_on_the_message(topic, far_side):
    def send(message):
        expire_leases(message)
        take(message)
        seen.append(everything(message))
        raise ValueError("late")

    seen = []
    message = outbox.post(topic(send=send), {})

    drain()

    assert everything(message) == seen[0]
    assert Attempt.objects.get(fence=1).error == "late"


def test_died_after_the_provider_said_yes_sends_again_with_the_same_key_and_says_so(topic, tmp_path):
    """C45."""
    calls = tmp_path / "calls"

    def send(message):
        with calls.open("a") as log:
            log.write(f"{message.key}\n")
        if calls.read_text().count("\n") == 1:
            os._exit(137)

    message = outbox.post(topic(send=send), {}, key="k")
    with pytest.raises(AssertionError, match="137"):
        in_child(message.run)
    assert Attempt.objects.get().outcome == ""  # begun, and no word since

    stale = take_again(message)

    message.refresh_from_db()
    assert (message.status, message.attempts) == ("sent", 2)
    assert calls.read_text() == "k\nk\n"
    assert [entry.outcome for entry in message.log.order_by("pk")] == ["unknown", "sent"]
    assert message.receipts()[0].starts == 2
    before = everything(message)
    with pytest.raises(LostLease):
        stale.settle("sent", states=("processing", "pending", "dead", "failed"))
    assert everything(message) == before


def take_again(message):
    """Let the lease lapse and another worker drain; return a claim with the fence of the one that vanished."""
    from durable.contract import Claim

    expire_leases(message)
    drain()
    return Claim(Message, using="default", pk=message.pk, fence=1, owner="gone/1", lease=5.0)


@pytest.mark.parametrize("status", ["dead", "failed", "pending"])
def test_a_late_success_wins_over_what_was_written_meanwhile_while_its_fence_matches(topic, far_side, status):
    """A7."""
    message = outbox.post(topic(), {})
    run, claim = take(message)
    settled = {} if status == "pending" else {"due_at": None}
    Message.objects.filter(pk=message.pk).update(status=status, lease_expires_at=None, **settled)

    recording.record([(run, claim)], ["late"])

    message.refresh_from_db()
    assert (message.status, message.provider_id, message.due_at) == ("sent", "late", None)


def test_a_message_reaped_while_its_worker_still_sends_is_sent_and_not_dead_in_the_end(topic):
    """A7, the whole way: the lease lapses in the middle of the last attempt, a reaper passes, then the send succeeds."""
    seen = []

    def send(message):
        expire_leases(message)
        drain()
        seen.append(Message.objects.get().status)
        return "late"

    message = outbox.post(topic(send=send, attempts=1), {})

    assert message.run() is True

    assert seen == ["dead"]
    assert (message.status, message.provider_id) == ("sent", "late")
    assert Attempt.objects.get().outcome == "sent"


def test_the_fence_never_goes_back_when_staff_retry_so_an_old_claim_stays_old(topic, far_side):
    """A6."""
    far_side.answers = [ValueError("no")]
    message = outbox.post(topic(attempts=1), {})
    run, zombie = take(message)
    message_log.begin([(run, zombie)])
    expire_leases(message)
    drain()  # reaped: its one attempt is spent
    message.refresh_from_db()
    assert message.status == "dead"

    assert message.retry() is True
    assert (message.status, message.attempts, message.fence) == ("pending", 0, 1)
    _, newer = take(message)

    assert newer.fence == 2
    with pytest.raises(LostLease):
        zombie.settle("sent", states=("processing", "pending", "dead", "failed"))


def blips(times, word):
    """Let the first statements that contain the word fail as if the connection had gone."""
    left = [times]

    def around(execute, sql, params, many, context):
        if word in sql and left[0]:
            left[0] -= 1
            raise OperationalError("server closed the connection unexpectedly")
        return execute(sql, params, many, context)

    return connection.execute_wrapper(around)


def test_a_blip_while_recording_never_sends_again(topic, far_side):
    """A9."""
    outbox.post(topic(), {})

    with blips(3, '"settled_at" = '):
        drain()

    message = Message.objects.get()
    assert (message.status, message.attempts, message.last_error) == ("sent", 1, "")
    assert len(far_side.calls) == 1
    assert Attempt.objects.get().outcome == "sent"


@contextlib.contextmanager
def losing_an_answer(monkeypatch, error):
    """Carry the receipt out and lose the server's answer, once; yield how often that is still to happen."""
    wrapper, left = type(connections["default"]), [1]
    commit = wrapper.commit

    def lost() -> None:
        left[0] -= 1
        raise error("no answer")

    def in_a_transaction(self):
        with self.cursor() as cursor:
            cursor.execute("SELECT status FROM durable_message")
            settled = cursor.fetchone() == ("sent",)
        commit(self)
        if settled and left[0]:
            lost()

    def alone(execute, sql, params, many, context):
        answer = execute(sql, params, many, context)
        if left[0] and sql.startswith("WITH beside AS (UPDATE"):
            lost()
        return answer

    monkeypatch.setattr(wrapper, "commit", in_a_transaction)
    with connection.execute_wrapper(alone):
        yield left
    monkeypatch.undo()


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_commit_whose_answer_was_lost_is_read_from_the_receipt(topic, far_side, monkeypatch, error):
    outbox.post(topic(), {})

    with losing_an_answer(monkeypatch, error) as left:
        report = drain()

    assert left == [0]
    assert report.outcomes == {Outcome.DONE: 1}
    assert len(far_side.calls) == 1


def test_sent_and_not_recorded_is_never_called_a_failure_and_stays_visible(topic, far_side, settings):
    """A9, A10: the process is told to stop while the database stays away."""
    settings.DURABLE = {**settings.DURABLE, "LEASE": 0.6}
    message = outbox.post(topic(), {}, key="k")
    run, claim = take(message, lease=0.6)
    claim.should_stop = lambda: bool(far_side.calls)

    with blips(10**6, '"due_at" = NULL, "settled_at" = '):
        outcome = attempt(run, claim, should_stop=lambda: bool(far_side.calls))

    assert outcome is Outcome.UNKNOWN
    message.refresh_from_db()
    assert (message.status, message.failures) == ("processing", [])
    assert Attempt.objects.get().outcome == ""
    expire_leases(message)
    drain()
    message.refresh_from_db()
    assert message.status == "sent"
    assert far_side.keys == ["k", "k"]
    assert [entry.outcome for entry in message.log.order_by("pk")] == ["unknown", "sent"]


def test_the_message_that_kills_its_worker_is_dead_after_its_budget_and_stops_nobody(topic):
    """C25: killed at every attempt, counted at the claim."""

    def send(message):
        if message.payload["poison"]:
            os._exit(137)

    poison = outbox.post(topic(send=send, attempts=3), {"poison": True})
    outbox.post_many("news", [{"poison": False}] * 3)

    for _ in range(8):
        with contextlib.suppress(AssertionError):  # the child died of it
            in_child(drain)
        make_due()
    poison.refresh_from_db()
    assert (poison.status, poison.fence, poison.attempts) == ("dead", 3, 3)
    assert "worker was lost" in poison.last_error
    assert poison.failures[0]["owner"].partition("/")[2]
    assert Message.objects.filter(status="sent").count() == 3
    assert {entry.outcome for entry in poison.log.all()} == {"unknown"}


def test_one_message_over_its_limit_stops_no_claim(topic, far_side):
    """C26."""
    over = outbox.post(topic(attempts=3), {})
    message_log.begin([take(over)])
    Message.objects.filter(pk=over.pk).update(attempts=3)
    expire_leases(over)
    outbox.post_many("news", [{}, {}, {}])

    drain()

    over.refresh_from_db()
    assert over.status == "dead"
    assert "somewhere/1" in over.last_error
    assert Message.objects.filter(status="sent").count() == 3


def test_what_was_claimed_and_never_begun_costs_no_attempt(topic, far_side):
    message = outbox.post(topic(attempts=1), {})
    for _ in range(4):
        take(message)
        expire_leases(message)
    Message.objects.update(attempts=1)

    drain()

    message.refresh_from_db()
    assert (message.status, message.attempts, message.failures) == ("sent", 1, [])
    assert len(far_side.calls) == 1


def test_a_budget_made_smaller_by_a_deploy_leaves_no_message_that_nobody_sees(topic, far_side):
    message = outbox.post(topic(attempts=2), {})
    Message.objects.filter(pk=message.pk).update(attempts=4)

    drain()

    message.refresh_from_db()
    assert (message.status, message.last_error) == ("dead", "given up after 4 attempts: the budget was made smaller")


def test_what_stood_behind_a_killed_worker_loses_nothing(topic, far_side):
    message = outbox.post(topic(attempts=2), {})
    take(message)
    expire_leases(message)

    drain()

    message.refresh_from_db()
    assert (message.status, message.attempts, message.losses) == ("sent", 1, 0)


def test_every_open_row_is_seen_by_some_claimer_or_reaper(topic, far_side):
    """C10."""
    from itertools import product

    from durable.clock import InSeconds

    outbox.post_many(topic(attempts=3), [{}] * 36)
    shapes = product(("pending", "processing"), (None, -10, 0.2), (None, -10, 0.2), (0, 5))
    for message, (status, due, lease, attempts) in zip(Message.objects.all(), shapes, strict=True):
        Message.objects.filter(pk=message.pk).update(
            status=status,
            due_at=None if due is None else InSeconds(due),
            lease_expires_at=None if lease is None else InSeconds(lease),
            attempts=attempts,
        )
    time.sleep(0.3)

    for _ in range(3):
        drain()

    assert set(Message.objects.values_list("status", flat=True)) == {"sent", "dead"}


def test_a_hung_send_becomes_claimable_and_its_late_success_is_only_told(topic, settings):
    """C05."""
    settings.DURABLE = {**settings.DURABLE, "LEASE": 0.6}
    hang, began = threading.Event(), []

    def send(message):
        began.append(message.fence)
        if len(began) == 1:
            hang.wait(20)
        return f"from fence {message.fence}"

    message = outbox.post(topic(send=send, timeout=0.5), {})
    first = Meanwhile(lambda: Message.objects.get().run())
    until(lambda: began == [1])

    until(lambda: drain().outcomes[Outcome.DONE] == 1)
    hang.set()
    first.result()

    message.refresh_from_db()
    assert (message.status, message.provider_id, message.fence) == ("sent", "from fence 2", 2)
    assert [entry.provider_id for entry in message.log.order_by("fence")] == ["from fence 1", "from fence 2"]


def until(fact, seconds=10):
    give_up = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < give_up, "it never became so"
        time.sleep(0.05)


def test_a_slow_send_within_its_timeout_is_never_taken(topic, settings):
    settings.DURABLE = {**settings.DURABLE, "LEASE": 0.9}
    outbox.post(topic(send=lambda message: time.sleep(2.5)), {})

    worker = Meanwhile(drain)
    time.sleep(1.2)
    assert drain().outcomes == {}
    worker.result()

    assert Message.objects.values_list("status", "fence").get() == ("sent", 1)


def test_no_statement_of_an_owner_leaves_out_its_fence(topic, far_side):
    statements = []

    def around(execute, sql, params, many, context):
        if sql.lstrip().startswith("UPDATE") and 'UPDATE "durable_message"' in sql:
            statements.append(sql)
        return execute(sql, params, many, context)

    far_side.answers = [ValueError("no"), "id"]
    message = outbox.post(topic(), {})
    taken = take(message)
    message_log.begin([taken])
    expire_leases(message)
    taken = take(message)
    taken[0].lost(taken[1])
    with connection.execute_wrapper(around):
        attempt(*taken)
        make_due_quietly()
        attempt(*take(message))

    assert len(statements) >= 2
    assert all('"fence" = %s' in sql for sql in statements if "due_at" not in sql.partition("WHERE")[2])


def make_due_quietly():
    with connection.cursor() as cursor:
        cursor.execute("/* time passes */ UPDATE durable_message SET due_at = created_at")


def test_a_step_that_posts_and_fails_posts_once_in_the_end(topic, far_side):
    """C17."""
    from tests.app.models import Errand

    tries = []

    def body(self):
        outbox.post("news", {"run": str(self.pk)}, key=f"news:{self.pk}")
        effect(self, "one")
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("not yet")

    topic()
    step = Errand.steps()["one"]
    original, step.body = step.body, body
    try:
        errand = Errand.objects.start()
        for _ in range(3):
            errand.run()
            drain()
    finally:
        step.body = original

    assert len(tries) == 3
    assert Message.objects.count() == len(far_side.calls) == 1
    assert Effect.objects.filter(run=errand.pk, name="one").count() == 1


def test_a_worker_killed_at_any_statement_is_survived(topic, tmp_path):
    calls = tmp_path / "calls"

    def send(message):
        with calls.open("a") as log:
            log.write(f"{message.key}\n")

    def sent_and_told(message):
        keys = calls.read_text().splitlines().count(message.key)
        assert 1 <= keys <= 2
        # As many records as sends, or one more where the worker died between the record and the send.
        assert keys <= message.log.count() <= 2
        assert message.log.filter(outcome="sent").count() == 1

    topic(send=send)
    survived = assert_survives(lambda: outbox.post("news", {}), check=sent_and_told)

    assert survived.points >= 8
    repeats = len(calls.read_text().splitlines()) - len(set(calls.read_text().splitlines()))
    print(f"killed at {survived.points} boundaries: {repeats} sends repeated")


def test_a_dead_message_can_be_finished_by_the_crash_kit(topic, far_side):
    far_side.answers = [ValueError("no")] * 2
    outbox.post(topic(), {})

    run_until_settled(Message)

    assert Message.objects.get().status == "sent"
