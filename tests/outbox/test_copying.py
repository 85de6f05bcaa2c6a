"""Many messages without keys are copied: the same rows as an INSERT makes, and the same promises."""

import uuid

import pytest
from django.db import DataError, connection, transaction

from bench.counting import cost_of
from durable import outbox
from durable.models import Message
from durable.payloads import BadPayload

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

MANY = 300


def copied(work):
    with cost_of(connection) as cost:
        work()
    return any("COPY" in text for text in cost.sent)


def rows(**chosen):
    return Message.objects.filter(**chosen).order_by("id")


def test_a_copied_message_is_the_row_that_an_inserted_one_is():
    assert copied(lambda: outbox.post_many("copied", [{"n": n} for n in range(MANY)]))
    assert not copied(lambda: outbox.post_many("inserted", [{"n": n} for n in range(3)]))

    one, other = rows(topic="copied").values().first(), rows(topic="inserted").values().first()

    own = {"id", "key", "topic", "payload", "created_at", "updated_at", "due_at"}
    assert {name: one[name] for name in one.keys() - own} == {name: other[name] for name in other.keys() - own}
    assert one["key"] == str(one["id"])
    for row in (one, other):
        assert row["created_at"] == row["updated_at"] == row["due_at"]
    assert [message.payload["n"] for message in rows(topic="copied")] == list(range(MANY))


def test_what_is_copied_comes_back_equal_whatever_stands_in_it():
    odd = ["\\", "\\N", "\\.", "\t", "a\nb\r\nc", '"', "ä é 😀 \u2028", "%s", "{}", "\x01\x7f", "\\u0041"]
    # What parts one payload from the next while they are written.
    odd += ["\\u0000", '", "\\u0000", "', ', "\\\\u0000", ']
    payloads = [{"text": text, text: [text, 1.5, None, True]} for text in odd] * 30
    lines = [text for text in odd for _ in range(30)]

    assert copied(lambda: outbox.post_many("a\\b\tc\nd", payloads, ordering_keys=lines))

    assert [message.payload for message in rows()] == payloads
    assert sorted(rows().values_list("ordering_key", flat=True)) == sorted(lines)
    assert set(rows().values_list("topic", flat=True)) == {"a\\b\tc\nd"}
    for line in odd:
        assert sorted(rows(ordering_key=line).values_list("ordinal", flat=True)) == list(range(1, 31))


def test_what_is_copied_is_returned_in_the_order_of_the_payloads_each_message_made_once():
    posted = outbox.post_many("news", [{"n": n} for n in range(MANY)])

    assert [message.payload["n"] for message in posted] == list(range(MANY))
    assert posted[-1] is posted[MANY - 1]
    assert posted[10:12] == [posted[10], posted[11]]
    assert {message.pk for message in posted} == {*rows().values_list("pk", flat=True)}
    with pytest.raises(IndexError):
        posted[MANY]


def test_copied_messages_vanish_with_the_callers_transaction():
    with transaction.atomic():
        assert copied(lambda: outbox.post_many("news", [{}] * MANY))
        assert Message.objects.count() == MANY
        transaction.set_rollback(True)

    assert not Message.objects.exists()


def test_all_are_checked_before_the_first_is_copied_and_the_transaction_is_unhurt():
    with transaction.atomic():
        with pytest.raises(BadPayload, match=rf"payloads\[{MANY}\]"):
            outbox.post_many("news", [*[{}] * MANY, {"n": float("nan")}])
        outbox.post("news", {})

    assert Message.objects.count() == 1


@pytest.mark.parametrize("why", ["a key", "a delay", "somebody looks on", "policies"])
def test_where_a_copy_could_not_do_what_an_insert_does_it_is_an_insert(why):
    given = {"keys": ["k", *[None] * (MANY - 1)]} if why == "a key" else {"delay": 60} if why == "a delay" else {}
    seen = []

    def around(execute, sql, params, many, context):
        seen.append(sql)
        return execute(sql, params, many, context)

    def post():
        outbox.post_many("news", [{}] * MANY, **given)

    if why == "somebody looks on":
        with connection.execute_wrapper(around):
            assert not copied(post)
        assert any(sql.startswith('INSERT INTO "durable_message"') for sql in seen)
    elif why == "policies":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("ALTER TABLE durable_message ENABLE ROW LEVEL SECURITY")
            cursor.execute("ALTER TABLE durable_message FORCE ROW LEVEL SECURITY")
            cursor.execute("CREATE POLICY all_of_them ON durable_message USING (true) WITH CHECK (true)")
            cursor.execute("CREATE ROLE tenant; GRANT ALL ON ALL TABLES IN SCHEMA public TO tenant; SET ROLE tenant")
            assert not copied(post)
            assert Message.objects.count() == MANY
            cursor.execute("RESET ROLE")
            transaction.set_rollback(True)
        return
    else:
        assert not copied(post)
    assert Message.objects.count() == MANY


def test_a_value_that_a_column_cannot_take_is_djangos_error():
    from durable import copying

    with pytest.raises(DataError), transaction.atomic():
        copying.copy(Message, connection, ["id"], [[["no id"]]], {})


def test_what_was_posted_is_a_sequence_of_messages_as_a_query_would_find_them():
    made = outbox.post_many("news", [{"n": n} for n in range(MANY)])

    assert len(made) == MANY
    assert made[-1].payload == {"n": MANY - 1}
    assert [message.pk for message in made[10:12]] == [made[10].pk, made[11].pk]
    assert made[5] is made[5]
    assert made == list(rows())
    assert made != list(rows())[1:]
    message = made[7]
    assert isinstance(message.pk, uuid.UUID)
    assert (message.status, message.fence, message._state.adding, message._state.db) == ("pending", 0, False, "default")
    assert message.created_at == Message.objects.get(pk=message.pk).created_at
    with pytest.raises(IndexError):
        made[MANY]
    with pytest.raises(TypeError):
        made[0] = message
