"""
DBOS: a workflow of five transaction steps, called directly in each process; the outbox on a queue of its own.

Steps run at READ COMMITTED (its default, SERIALIZABLE, is slower); the recorder of a step shares the step's transaction.
"""

import time

import psycopg
import sqlalchemy
from dbos import DBOS, DBOSClient, SQLAlchemyDatasource

from bench.peers import interrupted, queueing
from bench.together import Gate, seconds_together
from bench.work import BODY, STEPS, new_key

__all__ = ["Dbos", "Outbox", "Steps", "launch", "psycopg_url"]

EFFECT = sqlalchemy.text("INSERT INTO bench_effect (run, step, body) VALUES (:run, :step, :body)")


def psycopg_url(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://", 1)


def launch(url: str, place: int, *, migrate: bool = False, before: interrupted.Before | None = None):
    """Start DBOS in this process and return its workflow; `before` is called at the beginning of each step."""
    DBOS(
        config={
            "name": "bench",
            "system_database_url": psycopg_url(url),
            "executor_id": f"bench-{place}",
            "application_version": "bench",
            "log_level": "ERROR",
            "run_migrations": migrate,
            "notification_listener_polling_interval_sec": 0.01,
        }
    )
    source = SQLAlchemyDatasource.create(psycopg_url(url), run_migrations=migrate)

    @source.transaction(isolation_level="READ COMMITTED")
    def effect(run: str, number: int) -> None:
        if before:
            before(run, number)
        source.sql_session().execute(EFFECT, {"run": run, "step": number, "body": BODY})

    @DBOS.workflow(name="operation")
    def operation(run: str) -> None:
        for number in range(1, STEPS + 1):
            effect(run, number)

    @DBOS.workflow(name="message")
    def message(order: int) -> None:
        pass

    DBOS.launch()
    return operation


def _loop(place: int, gate: Gate, url: str, n: int) -> None:
    operation = launch(url, place)
    operation(str(new_key()))  # its pools and prepared statements
    gate.wait()
    for _ in range(n):
        operation(str(new_key()))


class Dbos(queueing.QueuePeer):
    FINISHED = "SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS' AND name = 'operation'"

    def install(self) -> None:
        launch(self.url, 99, migrate=True)
        self._polling()
        DBOS.destroy()

    def _polling(self) -> None:
        pass


class Steps(Dbos):
    warmed = 0

    def run(self, n: int, processes: int) -> dict[str, float]:
        taken = seconds_together(processes, _loop, self.url, n // processes)
        self.warmed += processes
        with psycopg.connect(self.url) as connection:  # the warming up is not part of what was asked for
            latest = "SELECT run FROM bench_effect GROUP BY run ORDER BY min(id) DESC LIMIT %s"
            connection.execute(f"DELETE FROM bench_effect WHERE run IN ({latest})", [processes])
        return {"done": taken}

    def done(self) -> int:
        return self.finished() - self.warmed

    def latency(self, n: int) -> list[float]:
        operation = launch(self.url, 0)
        taken = []
        for _ in range(n):
            begun = time.perf_counter()
            operation(str(new_key()))
            taken.append(time.perf_counter() - begun)
        DBOS.destroy()
        return taken


class Outbox(Dbos, queueing.Outbox):
    FINISHED = "SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS' AND name = 'message'"

    def _polling(self) -> None:
        DBOS.register_queue("outbox", polling_interval_sec=0.01, worker_concurrency=50)

    def enqueue(self, n: int) -> None:
        client = DBOSClient(system_database_url=psycopg_url(self.url))
        engine = sqlalchemy.create_engine(psycopg_url(self.url))
        with engine.begin() as connection:
            for order in range(n):
                options = {"workflow_name": "message", "queue_name": "outbox", "app_version": "bench"}
                client.enqueue_in_transaction(connection, options, order)
        engine.dispose()
        client.destroy()

    @staticmethod
    def work(place: int, gate: Gate, url: str) -> None:
        gate.wait()  # it begins to work when it is launched, so its launch is timed
        launch(url, place)
        while True:
            time.sleep(60)
