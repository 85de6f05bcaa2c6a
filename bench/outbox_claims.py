"""
What a claim of messages costs as the table grows: `python -m bench.outbox_claims`.

A million sent messages are kept, then ten thousand, a hundred thousand and a million wait. A batch of sixteen is claimed
and put back, again and again; shown is the median. Statistics are those of the moment before the messages came.
"""

import statistics
import time

from bench.ours.site import made
from tests.postgres import start_server

__all__ = ["main"]

TOPIC, SENT, LEVELS, CLAIMS = "order.receipt", 1_000_000, (10_000, 100_000, 1_000_000), 200
COPIES = """
INSERT INTO durable_message (id, topic, key, payload, ordering_key, ordinal, provider_id, status, fence, owner, attempts,
    losses, last_error, failures, created_at, updated_at, due_at, settled_at)
SELECT gen_random_uuid(), %s, gen_random_uuid()::text, '{}', '', 0, '', %s, 0, '', 0, 0, '', '[]', now(), now(),
    CASE WHEN %s THEN now() END, CASE WHEN NOT %s THEN now() END
FROM generate_series(1, %s)
"""


def main() -> None:
    made(start_server())
    from django.db import connection, transaction

    from durable import outbox
    from durable.contract import claim
    from durable.models import Message

    outbox.handler(TOPIC, external="idempotent")(lambda message: None)
    with connection.cursor() as cursor:
        cursor.execute(COPIES, [TOPIC, "sent", False, False, SENT])
        cursor.execute("VACUUM ANALYZE durable_message")
        waiting = 0
        for level in LEVELS:
            cursor.execute(COPIES, [TOPIC, "pending", True, True, level - waiting])
            waiting, taken = level, []
            (lane,) = (lane for lane in Message.lanes("default") if lane.name == TOPIC)
            for _ in range(CLAIMS):
                with transaction.atomic():
                    began = time.perf_counter()
                    claim(Message, using="default", owner="bench", lease=60, limit=16, taking=lane.taking())
                    taken.append(time.perf_counter() - began)
                    transaction.set_rollback(True)
            print(f"{level:>9} waiting, {SENT} sent: {statistics.median(taken) * 1000:.2f} ms a claim of sixteen")


if __name__ == "__main__":
    main()
