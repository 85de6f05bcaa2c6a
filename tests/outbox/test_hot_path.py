"""
What a message costs where nobody looks on, in counts that no busy machine changes: a guard against getting slower.

A change that makes it dearer must say so here, and why it is worth it. The least of several runs counts: the collector of
another test may fall into one.
"""

import cProfile
import pstats
import sys
import time

import pytest
from django.db import connection, transaction

from bench.counting import cost_of
from durable import outbox
from durable.models import Attempt, Message
from durable.runner import Reconciler
from durable.shutdown import Shutdown
from tests.outbox.conftest import drain

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = 4
MESSAGES = 1_600

#: Later interpreters count comprehensions and some builtins otherwise.
SLACK = 1.0 if sys.version_info < (3, 12) else 1.1


@pytest.fixture
def drained(topic, settings):
    """`drained(batch)` returns what drains so many messages, once it is warm."""
    settings.DURABLE = {}

    def ready(batch=None):
        topic(send=lambda what: None, external="idempotent", batch=batch)
        worker = Reconciler([Message], Shutdown(grace=0), threads=1, lanes={Message: frozenset({"news"})})
        worker.prepare()

        def posted(number):
            outbox.post_many("news", [{"n": n} for n in range(number)])
            return worker.run_pass

        for _ in range(4):
            posted(MESSAGES // 4)()
        return posted

    return ready


def calls(work):
    profile = cProfile.Profile()
    profile.runcall(work)
    return pstats.Stats(profile).total_calls


@pytest.mark.postgres
def test_a_message_by_itself_is_one_statement_one_answer_and_one_commit_and_its_share_of_the_claims(drained):
    work = drained()(MESSAGES)

    with cost_of(connection) as cost:
        work()

    # For sixteen: a claim, the beginning of the first, sixteen receipts of which each but the last begins the next.
    assert cost.statements <= 18 / 16 * MESSAGES + 20, cost.sent
    assert cost.round_trips <= cost.statements
    assert not any('"BEGIN' in text for text in cost.sent)
    assert Message.objects.filter(status="sent", fence=1).count() == 2 * MESSAGES
    assert Attempt.objects.filter(outcome="sent").count() == 2 * MESSAGES


@pytest.mark.postgres
def test_a_batch_of_a_hundred_is_three_statements(drained):
    work = drained(batch=100)(MESSAGES)

    with cost_of(connection) as cost:
        work()

    assert cost.statements <= 3 / 100 * MESSAGES + 10, cost.sent
    assert not any('"BEGIN' in text for text in cost.sent)
    assert Attempt.objects.filter(outcome="sent").count() == 2 * MESSAGES


@pytest.mark.postgres
@pytest.mark.parametrize(("batch", "most"), [(None, 225), (100, 88)])
def test_a_message_makes_no_more_python_calls_than_it_did(drained, batch, most):
    drain = drained(batch)

    counted = [calls(drain(MESSAGES)) / MESSAGES for _ in range(RUNS)]

    assert min(counted) <= most * SLACK, counted


@pytest.mark.postgres
def test_messages_without_keys_are_posted_by_one_copy(topic):
    outbox.post_many("news", [{"n": n} for n in range(MESSAGES)])

    with cost_of(connection) as cost, transaction.atomic():
        outbox.post_many("news", [{"n": n} for n in range(MESSAGES)])

    assert cost.statements <= 4, cost.sent  # BEGIN, whether it may be copied, COPY, COMMIT
    counted = [
        calls(lambda: outbox.post_many("news", [{"n": n} for n in range(MESSAGES)])) / MESSAGES for _ in range(RUNS)
    ]
    assert min(counted) <= 15 * SLACK, counted


@pytest.mark.postgres
def test_messages_with_keys_are_posted_a_thousand_a_statement(topic):
    outbox.post_many("news", [{}], keys=["before"])

    with cost_of(connection) as cost, transaction.atomic():
        outbox.post_many("news", [{"n": n} for n in range(3_000)], keys=[f"k{n}" for n in range(3_000)])

    assert cost.statements == 5, cost.sent


@pytest.mark.postgres
@pytest.mark.parametrize(("age", "kept"), [(0, True), (None, True), (0.001, False)])
def test_a_worker_keeps_its_connection_unless_the_project_gives_it_an_age(topic, age, kept):
    """No age asks for a new one with every request; with every message it would be most of what the message costs."""
    backends = []

    def send(message):
        backends.append(connection.connection.info.backend_pid)
        time.sleep(0.01)

    connection.close()
    before, connection.settings_dict["CONN_MAX_AGE"] = connection.settings_dict["CONN_MAX_AGE"], age
    try:
        outbox.post_many(topic(send=send, concurrency=1), [{}] * 4)
        drain()
        connection.close_if_unusable_or_obsolete()
        assert (connection.connection is None) == (age is not None)  # at the end of a request it goes as ever
    finally:
        connection.settings_dict["CONN_MAX_AGE"] = before
        connection.close()

    assert len(backends) == 4
    assert (len(set(backends)) == 1) == kept


def test_what_a_message_costs_where_one_statement_cannot_write_two_tables(drained):
    """SQLite, and PostgreSQL with somebody looking on: counted as Django's cursors see it."""
    work, seen = drained()(160), []

    def around(execute, sql, params, many, context):
        seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(around):
        work()

    assert Message.objects.filter(status="sent", fence=1).count() == MESSAGES + 160
    most = 1.3 if connection.vendor == "postgresql" else 7.5
    assert len(seen) <= most * 160 + 20, len(seen)
