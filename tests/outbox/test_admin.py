"""The admin of messages: what may be pressed, and what a list reads."""

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from durable import outbox
from durable.models import Attempt, Message
from durable.testing import expire_leases
from tests.outbox.conftest import drain, take

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "admin:durable_message_changelist"


@pytest.fixture
def staff(client):
    client.force_login(get_user_model().objects.create_superuser("root", password="x"))
    return client


def press(staff, action, *messages):
    data = {"action": action, "_selected_action": [str(message.pk) for message in messages]}
    return staff.post(reverse(LIST), data, follow=True)


def test_retry_moves_what_is_dead_or_failed_and_tells_what_it_left(staff, topic, far_side):
    """C46."""
    from durable import Refused

    far_side.answers = ["id", ValueError("no"), Refused("never")]
    name = topic(attempts=1)  # one by one: those of one statement are due at one moment, and have no order
    sent, dead, failed = (outbox.post(name, {}, key=key) for key in ("sent", "dead", "failed"))
    drain()
    held = outbox.post("news", {}, key="held")
    take(held)
    waiting = outbox.post("news", {}, key="waiting")
    before = {message.pk: Message.objects.filter(pk=message.pk).values().get() for message in (sent, held, waiting)}

    page = press(staff, "retry_selected", sent, dead, failed, held, waiting).content.decode()

    for pk, row in before.items():
        assert Message.objects.filter(pk=pk).values().get() == row
    for message in (dead, failed):
        message.refresh_from_db()
        assert (message.status, message.attempts, message.fence) == ("pending", 0, 1)
        assert message.due_at is not None
    assert "2 runs retried" in page
    assert "3 left as they were" in page
    assert "held (processing)" in page


def test_a_retried_message_is_sent(staff, topic, far_side):
    far_side.answers = [ValueError("no")]
    dead = outbox.post(topic(attempts=1), {})
    drain()

    press(staff, "retry_selected", dead)
    drain()

    dead.refresh_from_db()
    assert dead.status == "sent"


def test_a_list_of_heavy_messages_reads_no_payload(staff, django_assert_max_num_queries):
    """C82."""
    outbox.post_many("news", [{"text": "x" * 100_000}] * 120)

    with django_assert_max_num_queries(12) as captured:
        page = staff.get(reverse(LIST))

    assert page.status_code == 200
    assert len(page.content) < 1_000_000
    lists = [query["sql"] for query in captured.captured_queries if 'FROM "durable_message"' in query["sql"]]
    assert lists
    assert not any('"payload"' in sql or '"failures"' in sql for sql in lists)


def test_the_page_of_a_message_shows_its_attempts_and_escapes_what_the_far_side_said(staff, topic, far_side):
    far_side.answers = [ValueError("<img src=x onerror=alert(1)>")]
    message = outbox.post(topic(), {"html": "<img src=x onerror=alert(1)>"})
    drain()

    page = staff.get(reverse("admin:durable_message_change", args=[message.pk])).content.decode()

    assert "<img src=x" not in page
    assert "&lt;img src=x" in page
    assert "ValueError" in page


def test_an_attempt_without_a_word_is_named_as_one(staff, topic, far_side):
    message = outbox.post(topic(), {})
    taken = take(message)
    from durable import message_log

    message_log.begin([taken])
    page = staff.get(reverse("admin:durable_message_change", args=[message.pk])).content.decode()
    assert "no word yet" in page

    expire_leases()
    drain()
    page = staff.get(reverse("admin:durable_message_change", args=[message.pk])).content.decode()
    assert "unknown" in page


def test_nobody_adds_or_deletes_a_message_by_hand(staff, topic, far_side):
    message = outbox.post(topic(), {})

    assert staff.get(reverse("admin:durable_message_add")).status_code == 403
    assert staff.post(reverse("admin:durable_message_delete", args=[message.pk]), {"post": "yes"}).status_code == 403
    staff.post(reverse("admin:durable_message_change", args=[message.pk]), {"status": "sent", "payload": "{}"})
    message.refresh_from_db()
    assert message.status == "pending"


def test_settled_messages_are_pruned_with_their_records_and_open_ones_are_not(topic, far_side):
    """A5."""
    from django.core.management import call_command

    from durable.clock import InSeconds

    outbox.post_many(topic(), [{}] * 3)
    drain()
    Message.objects.update(settled_at=InSeconds(-100))
    outbox.post("news", {})

    call_command("prune_runs", "--older-than", "90s", "--kind", "durable.message")

    assert Message.objects.count() == 1
    assert Attempt.objects.count() == 0
