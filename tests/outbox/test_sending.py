"""Sending: every way a handler can end, and what is left on the row and on the attempt's record."""

import pytest

from durable import Backoff, NotConfigured, Refused, RetryAfter, outbox, pauses
from durable.attempt import Outcome
from durable.models import Attempt, Message
from tests.durable.actors import Meanwhile
from tests.outbox.conftest import drain, make_due

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_message_is_sent_and_the_providers_id_is_kept(topic, far_side):
    far_side.answers = ["provider-7"]
    outbox.post(topic(), {"n": 1}, key="k")

    report = drain()

    message, record = Message.objects.get(), Attempt.objects.get()
    assert report.outcomes == {Outcome.DONE: 1}
    assert (message.status, message.provider_id, message.attempts, message.fence) == ("sent", "provider-7", 1, 1)
    assert message.due_at is None
    assert message.settled_at is not None
    assert (record.outcome, record.provider_id, record.number, record.fence) == ("sent", "provider-7", 1, 1)
    assert record.ended_at >= record.started_at
    assert far_side.calls == [("k", {"n": 1})]


def test_a_sent_message_is_never_sent_again(topic, far_side):
    message = outbox.post(topic(), {})
    drain()

    drain()

    assert message.run() is True
    assert message.retry() is False
    assert len(far_side.calls) == 1


def test_the_record_of_an_attempt_is_committed_before_the_send(topic):
    seen = []

    def send(message):
        seen.append(Meanwhile(lambda: Attempt.objects.values_list("outcome", "number").get()).result())

    outbox.post(topic(send=send), {})

    drain()

    assert seen == [("", 1)]


def test_an_error_is_kept_and_the_message_tried_again_under_the_same_key(topic, far_side):
    far_side.answers = [OSError("no route"), "id"]
    outbox.post(topic(backoff=Backoff(base=60)), {"n": 1}, key="k")

    assert drain().outcomes == {Outcome.FAILED: 1}
    message = Message.objects.get()
    assert message.status == "pending"
    assert message.last_error == "OSError: no route"
    assert message.failures[0]["type"] == "OSError"
    assert 60 <= (message.due_at - message.updated_at).total_seconds() < 70
    assert drain().outcomes == {}  # a boot pass, too, honours the backoff

    make_due()
    drain()

    message = Message.objects.get()
    assert (message.status, message.last_error, message.attempts) == ("sent", "", 2)
    assert far_side.keys == ["k", "k"]
    assert [entry.outcome for entry in message.log.order_by("pk")] == ["failed", "sent"]
    assert [entry.error for entry in message.log.order_by("pk")] == ["no route", ""]


def test_a_message_is_dead_after_exactly_its_budget_of_sends(topic, far_side):
    far_side.answers = [ValueError("no")] * 9
    outbox.post(topic(attempts=3), {})

    for _ in range(6):
        drain()
        make_due()

    message = Message.objects.get()
    assert message.status == "dead"
    assert message.last_error == "given up after 3 attempts: ValueError: no"
    assert len(far_side.calls) == 3


def test_refused_settles_as_failed_at_once(topic, far_side):
    far_side.answers = [Refused("blocked by the recipient")]
    outbox.post(topic(), {})

    drain()

    message = Message.objects.get()
    assert (message.status, message.last_error) == ("failed", "refused: blocked by the recipient")
    assert message.log.get().outcome == "refused"
    assert message.settled_at is not None


def test_retry_after_waits_as_long_as_the_far_side_asked_and_costs_no_attempt(topic, far_side):
    far_side.answers = [RetryAfter(120)]
    outbox.post(topic(attempts=1), {})

    assert drain().outcomes == {Outcome.WAITING: 1}

    message = Message.objects.get()
    assert (message.status, message.attempts) == ("pending", 0)
    assert 120 <= (message.due_at - message.updated_at).total_seconds() < 121
    assert message.log.get().outcome == "later"
    make_due()
    drain()
    assert Message.objects.get().status == "sent"


def test_a_rate_limit_of_the_whole_topic_lets_the_others_wait_too(topic, far_side):
    far_side.answers = [RetryAfter(120, whole_topic=True)]
    outbox.post_many(topic(), [{"n": n} for n in range(3)])

    drain()

    assert len(far_side.calls) == 1
    assert Message.objects.filter(status="pending", attempts=0).count() == 3


def test_a_topic_that_is_not_configured_is_paused_and_burns_no_row(topic, far_side):
    far_side.answers = [NotConfigured("SMTP password missing")]
    outbox.post_many(topic(attempts=1), [{"n": n} for n in range(3)])

    report = drain()
    again = drain()

    assert len(far_side.calls) == 1
    assert report.outcomes == {Outcome.FAILED: 1}
    assert Message.objects.filter(status="pending", attempts=0).count() == 3
    assert any("'news' is paused: not configured: SMTP password missing" in problem for problem in again.problems)
    assert "paused" in Message.objects.last().explain()


def test_a_paused_topic_is_tried_again_by_itself_once_the_pause_is_over(topic, far_side):
    from durable.clock import InSeconds
    from durable.models import Topic

    far_side.answers = [NotConfigured("no password")]
    outbox.post_many(topic(), [{"n": n} for n in range(3)])
    drain()

    Topic.objects.update(paused_until=InSeconds(-1))
    pauses.forget()
    make_due()
    drain()

    assert Message.objects.filter(status="sent", attempts=1).count() == 3


def test_staff_may_pause_a_topic_and_resume_it(topic, far_side):
    outbox.post(topic(), {})
    outbox.pause("news", reason="the provider is moving house")
    drain()
    assert far_side.calls == []

    assert outbox.resume("news") is True
    drain()

    assert len(far_side.calls) == 1
    assert outbox.resume("news") is False


def test_a_topic_without_a_handler_is_left_alone_reported_and_served_when_it_comes_back(topic, far_side):
    outbox.post("retired", {"n": 1})
    outbox.post_many(topic(), [{"n": 2}, {"n": 3}])

    report = drain()

    odd = Message.objects.get(topic="retired")
    assert Message.objects.filter(topic="news", status="sent").count() == 2
    assert (odd.status, odd.fence, odd.lease_expires_at) == ("pending", 0, None)
    assert "'retired'" in odd.last_error
    assert any("'retired'" in problem for problem in report.problems)
    assert "no handler" in odd.explain()

    topic("retired")
    report = drain()

    odd.refresh_from_db()
    assert (odd.status, odd.last_error) == ("sent", "")
    assert not report.problems


def test_a_delayed_message_waits_for_its_time_even_at_a_boot_pass(topic, far_side):
    outbox.post(topic(), {}, delay=3600)

    drain()

    assert far_side.calls == []
    message = Message.objects.get()
    assert 3599 < (message.due_at - message.created_at).total_seconds() < 3601


@pytest.mark.parametrize("attempts", [47, 64, 1024, 1_000_000, 2_147_483_647])
def test_a_backoff_never_overflows(topic, far_side, attempts):
    """C27."""
    far_side.answers = [ValueError("no")]
    message = outbox.post(topic(attempts=None, backoff=Backoff(base=1, cap=3600)), {})
    Message.objects.filter(pk=message.pk).update(attempts=attempts)

    drain()

    message.refresh_from_db()
    assert message.status == "pending"
    assert 3600 <= (message.due_at - message.updated_at).total_seconds() <= 5400


def test_a_hundred_failures_of_one_second_do_not_come_back_in_one_second(topic, far_side):
    """C29."""
    far_side.answers = [ValueError("no")] * 100
    outbox.post_many(topic(backoff=Backoff(base=60)), [{"n": n} for n in range(100)])

    drain()

    due = [(message.due_at - message.updated_at).total_seconds() for message in Message.objects.all()]
    assert len({round(second, 2) for second in due}) >= 50
    assert min(due) >= 60
    assert max(due) <= 90


def test_poison_at_the_head_of_the_queue_stops_nobody(topic, far_side):
    """C43."""
    outbox.post_many(topic(), [{"poison": True}] * 10)
    outbox.post("news", {"poison": False})
    sent = []

    def send(message):
        if message.payload["poison"]:
            raise ValueError("poison")
        sent.append(message.key)

    outbox.forget("news")
    topic(send=send)

    drain()
    drain()

    assert len(sent) == 1
    assert Message.objects.filter(status="pending", attempts=1).count() == 10


def test_the_text_of_an_error_is_stored_whatever_it_is(topic, far_side):
    far_side.answers = [ValueError("x\x00y\ud83d" + "z" * 100_000)]
    outbox.post(topic(), {})

    drain()

    assert Message.objects.get().last_error.startswith("ValueError: x\\x00y")


@pytest.mark.parametrize("answer", ["x" * 500, "nul \x00 \ud83d", 7, {"id": 1}, object()])
def test_a_strange_answer_never_makes_a_sent_message_unsent(topic, far_side, answer):
    far_side.answers = [answer]
    outbox.post(topic(), {})

    drain()

    assert Message.objects.get().status == "sent"


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt()])
def test_a_handler_that_ends_the_process_frees_its_message_at_once(topic, far_side, error):
    far_side.answers = [error]
    outbox.post(topic(), {})

    with pytest.raises(type(error)):
        drain()

    message = Message.objects.get()
    assert (message.status, message.lease_expires_at, message.attempts) == ("pending", None, 1)
    assert type(error).__name__ in message.last_error
