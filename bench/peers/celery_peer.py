"""
Celery on Redis: late acknowledgement, prefork with one process each, Redis with an append-only file synced every second.

Redis keeps no receipt in the user's database; the count of finished messages is a counter that each task raises in Redis.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time

import celery
import redis

from bench.contender import Unable
from bench.together import Gate, seconds, seconds_until_drained

__all__ = ["Outbox"]

app = celery.Celery("bench", broker=os.environ.get("BENCH_REDIS", "redis://"))
app.conf.update(
    task_acks_late=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=64,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
)
_counter = None


@app.task(name="message")
def message(order: int) -> None:
    global _counter
    _counter = _counter or redis.Redis.from_url(os.environ["BENCH_REDIS"])
    _counter.incr("finished")


def _work(place: int, gate: Gate) -> None:
    gate.wait()
    options = ["worker", "--pool", "prefork", "--concurrency", "1", "--loglevel", "ERROR"]
    app.worker_main([*options, "--without-gossip", "--without-mingle", "-n", f"bench{place}"])


class Outbox:
    def __init__(self, url: str) -> None:
        self.put_in = 0

    def setup(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.folder = tempfile.mkdtemp(prefix="known-state-redis-")
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", self.folder, "--save", ""]
        command += ["--appendonly", "yes", "--appendfsync", "everysec"]
        self.server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        os.environ["BENCH_REDIS"] = f"redis://127.0.0.1:{port}/0"
        app.conf.broker_url = os.environ["BENCH_REDIS"]
        self.redis = redis.Redis.from_url(os.environ["BENCH_REDIS"])
        for _ in range(200):
            try:
                self.redis.ping()
            except redis.ConnectionError:
                time.sleep(0.05)
            else:
                return
        raise Unable("redis-server did not start")

    def run(self, n: int, processes: int) -> dict[str, float]:
        def post() -> None:
            with app.producer_pool.acquire(block=True) as producer:
                for order in range(n):
                    message.apply_async((order,), producer=producer)

        enqueue = seconds(post)
        self.put_in += n
        # Its start-up of about a second can't be told apart from work, so the clock starts at the first message done.
        before = self.done()
        begun: list[float] = []

        def left() -> bool:
            if not begun and self.done() > before:
                begun.append(time.perf_counter())
            return self.done() < self.put_in

        seconds_until_drained(processes, _work, left)
        return {"enqueue": enqueue, "drain": time.perf_counter() - begun[0]}

    def done(self) -> int:
        return int(self.redis.get("finished") or 0)

    def latency(self, n: int) -> list[float]:
        return []

    def teardown(self) -> None:
        self.server.terminate()
        self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
