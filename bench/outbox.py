"""
The outbox by itself: how fast messages are posted and drained, and what a claim costs with a long table behind it.

    python -m bench.outbox                 # 20 000 messages; claims at 10 k, 100 k and 1 M pending beside 1 M sent
    python -m bench.outbox --small         # a tenth of everything

DATABASE_URL names the server; without it an embedded one is started. The handler does nothing: what is measured is ours.
"""

import argparse
import os
import statistics
import time

ROWS = (10_000, 100_000, 1_000_000)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    small = parser.parse_args().small
    if "DATABASE_URL" not in os.environ:
        from tests.postgres import start_server

        os.environ["DATABASE_URL"] = start_server()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    share = 10 if small else 1
    posting(2_000 // share, 20_000 // share)
    draining(4_000 // share)
    claiming([rows // share for rows in ROWS], 1_000_000 // share)


def posting(singly, together):
    """Post one by one, each in its own transaction; and in calls of a thousand."""
    from durable import outbox

    began = time.perf_counter()
    for n in range(singly):
        outbox.post("bench.posting", {"n": n})
    said("post(), a transaction each", singly, began)
    began = time.perf_counter()
    for start in range(0, together, 1_000):
        outbox.post_many("bench.posting", [{"n": n} for n in range(start, start + 1_000)])
    said("post_many(), 1 000 a call", together, began)


def draining(messages):
    """Drain with one thread, with four, and in batches of 100."""
    from durable import outbox

    outbox.handler("bench.single", external="idempotent")(lambda message: None)
    outbox.handler("bench.batch", external="idempotent", batch=100)(lambda messages: None)
    for topic, threads in (("bench.single", 1), ("bench.single", 4), ("bench.batch", 1)):
        outbox.post_many(topic, [{"n": n} for n in range(messages)])
        began = time.perf_counter()
        drain(threads)
        said(f"drained, {topic.partition('.')[2]}, {threads} thread(s)", messages, began)
    outbox.forget("bench.single")
    outbox.forget("bench.batch")


def drain(threads):
    from durable.models import Message
    from durable.runner import Reconciler
    from durable.shutdown import Shutdown

    reconciler = Reconciler([Message], Shutdown(grace=0), threads=threads)
    reconciler.prepare()
    report = reconciler.run_pass()
    assert not report.failed or report.problems, report


def claiming(sizes, sent):
    """Claim with so many pending, beside many that are sent; rows are made by the server itself."""
    from django.db import connection

    from durable import outbox
    from durable.contract import claim
    from durable.models import Message

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE durable_message, durable_attempt, durable_topic")
        grow(cursor, "sent", sent)
        for topic, line in (("bench.claim", ""), ("bench.lines", "a key each")):
            outbox.handler(topic, external="idempotent")(lambda message: None)
            have = 0
            for size in sizes:
                grow(cursor, topic, size - have, line)
                have = size
                cursor.execute("VACUUM ANALYZE durable_message")
                lane = next(lane for lane in Message.lanes("default") if lane.name == topic)
                took = []
                for _ in range(50):
                    began = time.perf_counter()
                    taken = claim(Message, using="default", owner="bench/1", lease=60, limit=10, taking=lane.taking())
                    took.append(time.perf_counter() - began)
                    assert len(taken) == 10
                have -= 500
                middle, most = statistics.median(took) * 1e3, max(took) * 1e3
                print(f"claim of 10, {size:>9,} pending ({line or 'no order'}), {sent:,} sent: "
                      f"median {middle:.2f} ms, longest {most:.2f} ms")  # fmt: skip
            outbox.forget(topic)


def grow(cursor, topic, rows, line=""):
    status, due = ("sent", "NULL") if topic == "sent" else ("pending", "now() - n * interval '1 ms'")
    cursor.execute(
        f"""
        INSERT INTO durable_message (id, status, fence, owner, due_at, attempts, losses, last_error, failures, key,
            created_at, updated_at, settled_at, topic, payload, ordering_key, ordinal, provider_id)
        SELECT gen_random_uuid(), %s, 0, '', {due}, 0, 0, '', '[]', gen_random_uuid()::text, now(), now(),
            CASE WHEN %s = 'sent' THEN now() END, %s, '{{"n": 1}}', CASE WHEN %s = '' THEN '' ELSE n::text END, 1, ''
        FROM generate_series(1, %s) n
        """,
        [status, status, topic, line, rows],
    )


def said(what, count, began):
    took = time.perf_counter() - began
    print(f"{what}: {count:,} in {took:.2f} s = {count / took:,.0f}/s")


if __name__ == "__main__":
    main()
