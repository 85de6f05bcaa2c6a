"""
W2 by us: messages posted in bulk and drained as `manage.py reconcile` drains them, with as many threads as it has where
nobody says otherwise, every attempt with its record.

`Batches` has a batch handler: a hundred messages in one call, one receipt statement for all of them.
"""

import psycopg

from bench.ours.site import configured, made
from bench.together import Gate, seconds, seconds_together

__all__ = ["Batches", "OneByOne"]

TOPIC = "order.receipt"
AT_ONCE = 5_000  # messages a `post_many`


def _listen(batch: int | None) -> None:
    from durable import outbox

    if batch is None:
        outbox.handler(TOPIC, external="idempotent")(lambda message: None)
    else:
        outbox.handler(TOPIC, external="idempotent", batch=batch)(lambda messages: None)


def _drain(place: int, gate: Gate, url: str, batch: int | None) -> None:
    configured(url)
    from django.db import connection

    from durable.conf import setting
    from durable.models import Message
    from durable.runner import Reconciler
    from durable.shutdown import Shutdown

    _listen(batch)
    connection.ensure_connection()
    reconciler = Reconciler([Message], Shutdown(grace=0), threads=int(setting("THREADS")))
    gate.wait()
    reconciler.prepare()
    reconciler.run_pass()


class OneByOne:
    batch: int | None = None

    def __init__(self, url: str) -> None:
        self.url = url

    def setup(self) -> None:
        made(self.url)
        from durable import outbox

        outbox.post_many(TOPIC, [])  # what it needs is imported: imports are nobody's cost

    def run(self, n: int, processes: int) -> dict[str, float]:
        enqueue = seconds(lambda: self._post(n))
        return {"enqueue": enqueue, "drain": seconds_together(processes, _drain, self.url, self.batch)}

    def _post(self, n: int) -> None:
        from django.db import transaction

        from durable import outbox

        with transaction.atomic():
            for begin in range(0, n, AT_ONCE):
                outbox.post_many(TOPIC, [{"order": number} for number in range(begin, min(begin + AT_ONCE, n))])

    def done(self) -> int:
        with psycopg.connect(self.url) as connection:
            return connection.execute("SELECT count(*) FROM durable_message WHERE status = 'sent'").fetchone()[0]

    def latency(self, n: int) -> list[float]:
        return []

    def teardown(self) -> None:
        from django.db import connection

        connection.close()


class Batches(OneByOne):
    batch = 100
