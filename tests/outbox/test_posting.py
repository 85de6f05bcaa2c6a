"""Posting: in the caller's transaction, once per key, equal or refused."""

import datetime as dt
import uuid
from decimal import Decimal

import pytest
from django.db import connection, transaction

from durable import KeyConflict, outbox
from durable.models import Message
from durable.payloads import BadPayload
from tests.app.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_message_commits_and_vanishes_with_the_callers_transaction():
    with transaction.atomic():
        outbox.post("news", {"n": 1}, key="kept")
    with transaction.atomic():
        outbox.post("news", {"n": 2}, key="lost")
        transaction.set_rollback(True)

    assert list(Message.objects.values_list("key", flat=True)) == ["kept"]


def test_the_same_key_and_payload_is_the_same_message_and_the_transaction_goes_on():
    first = outbox.post("news", {"n": 1, "m": 2}, key="k")

    with transaction.atomic():
        Effect.objects.create(run=uuid.uuid4(), name="before")
        again = outbox.post("news", {"m": 2, "n": 1}, key="k")
        Effect.objects.create(run=uuid.uuid4(), name="after")

    assert again.pk == first.pk
    assert Message.objects.count() == 1
    assert Effect.objects.count() == 2


def test_the_same_key_with_another_payload_is_an_error_that_names_both_and_hurts_nobody():
    outbox.post("news", {"total": 10}, key="k")

    with transaction.atomic():
        with pytest.raises(KeyConflict, match=r'"total":10.*"total":11'):
            outbox.post("news", {"total": 11}, key="k")
        Effect.objects.create(run=uuid.uuid4(), name="after")

    assert Effect.objects.count() == 1
    assert Message.objects.get().payload == {"total": 10}


def test_one_key_may_stand_in_two_topics():
    assert outbox.post("news", {}, key="k").pk != outbox.post("offers", {}, key="k").pk


def test_one_and_true_and_one_point_nought_are_three_payloads():
    outbox.post("news", {"n": 1}, key="k")

    for other in (True, 1.0):
        with pytest.raises(KeyConflict):
            outbox.post("news", {"n": other}, key="k")


def test_without_a_key_the_messages_own_id_is_the_key():
    message = outbox.post("news", {})

    assert message.key == str(message.pk)


def test_many_messages_take_few_statements(django_assert_num_queries):
    with django_assert_num_queries(1 if connection.features.can_return_rows_from_bulk_insert else 500):
        made = outbox.post_many("news", ({"n": n} for n in range(500)), keys=(f"k{n}" for n in range(500)))

    assert [message.payload["n"] for message in made] == list(range(500))
    assert Message.objects.count() == 500


def test_many_messages_find_those_there_are_and_make_the_rest():
    before = outbox.post("news", {"n": 1}, key="k1")

    made = outbox.post_many("news", [{"n": 0}, {"n": 1}, {"n": 0}], keys=["k0", "k1", "k0"])

    assert made[1].pk == before.pk
    assert made[0].pk == made[2].pk
    assert Message.objects.count() == 2


def test_two_payloads_for_one_key_in_one_call_are_refused_before_anything_is_written():
    with pytest.raises(KeyConflict):
        outbox.post_many("news", [{"n": 0}, {"n": 1}], keys=["k", "k"])

    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (float("nan"), r"payload\['a'\]\[1\]"),
        (float("inf"), r"payload\['a'\]\[1\]"),
        (1e300, r"payload\['a'\]\[1\]"),
        (2**53, r"payload\['a'\]\[1\]"),
        ("half \ud83d", r"payload\['a'\]\[1\]"),
        ("nul \x00", r"payload\['a'\]\[1\]"),
        ((1, 2), r"payload\['a'\]\[1\] is a tuple"),
        ({1: 2}, r"payload\['a'\]\[1\] has the key 1"),
        ({"\x00": 2}, r"payload\['a'\]\[1\], key"),
        (Decimal("1.1"), r"payload\['a'\]\[1\] is a Decimal"),
        (dt.date(2026, 1, 2), r"payload\['a'\]\[1\] is a date"),
        (uuid.UUID(int=1), r"payload\['a'\]\[1\] is a UUID"),
        (b"x", r"payload\['a'\]\[1\] is a bytes"),
        ({1, 2}, r"payload\['a'\]\[1\] is a set"),
    ],
)
def test_what_would_come_back_changed_is_refused_with_its_place(value, place):
    with pytest.raises(BadPayload, match=place):
        outbox.post("news", {"a": [0, value]})

    assert not Message.objects.exists()


def test_a_payload_that_contains_itself_is_refused():
    loop = []
    loop.append(loop)

    with pytest.raises(BadPayload, match="contains itself"):
        outbox.post("news", loop)


@pytest.mark.parametrize(
    "payload",
    [
        {"a": [1, 2.5, True, None, "😀 é e\u0301 \u2028 \\u0000", {}], "": []},
        [],
        "text",
        0,
        5e-324,
        1e-7,
        2**53 - 1,
        -(2**53) + 1,
        {"deep": [[[[{"x": [1.0]}]]]]},
    ],
)
def test_what_is_taken_comes_back_equal_and_of_the_same_type(payload):
    outbox.post("news", payload)

    back = Message.objects.get().payload
    assert back == payload
    assert repr(back) == repr(payload) or isinstance(payload, dict)


def test_a_topic_a_key_and_a_delay_are_checked_at_the_door():
    for bad in ("", "x" * 101, "a\x00", None, 7, "\ud83d"):
        with pytest.raises(ValueError):
            outbox.post(bad, {})
    for bad in ("", "x" * 201, "a\x00", 7, "\ud83d"):
        with pytest.raises(ValueError):
            outbox.post("news", {}, key=bad)
    for bad in (-1, float("nan"), 1e12, "1", True):
        with pytest.raises(ValueError):
            outbox.post("news", {}, delay=bad)
    with pytest.raises(ValueError, match="one of each"):
        outbox.post_many("news", [{}, {}], keys=["a"])


def test_no_payload_at_all_is_refused():
    with pytest.raises(BadPayload, match="payload is None"):
        outbox.post("news", None)


def test_nothing_to_post_is_nothing_posted():
    assert outbox.post_many("news", []) == []
