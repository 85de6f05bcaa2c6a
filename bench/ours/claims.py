"""
W3 and W4 by us: claiming and settling in a full table, and the boot pass that `manage.py reconcile` makes.

The tables are filled with SQL, as the floor's are, because starting a million runs is not what is measured.
"""

import io
from typing import Any

import psycopg

from bench.floors import psycopg_claims as floor
from bench.ours.site import made
from bench.together import seconds

__all__ = ["BootPass", "Claims"]

TABLE = "bench_ours_insertion"
COLUMNS = "id, status, fence, owner, attempts, losses, last_error, failures, step_names, step_log, due_at"
ROW = "gen_random_uuid(), '{status}', {fence}, '{owner}', {fence}, 0, '', '[]', %(steps)s, '{{}}'"
DUE = f"""
INSERT INTO {TABLE} ({COLUMNS}) SELECT {ROW.format(status="pending", fence=0, owner="")},
    statement_timestamp() - interval '1 s' * (1 + random()) FROM generate_series(1, %(n)s)
"""
SETTLED = f"""
INSERT INTO {TABLE} ({COLUMNS}, settled_at, first_at, second_at, third_at, fourth_at, fifth_at)
SELECT {ROW.format(status="done", fence=1, owner="")}, NULL, now(), now(), now(), now(), now(), now()
FROM generate_series(1, %(n)s)
"""
INTERRUPTED = f"""
INSERT INTO {TABLE} ({COLUMNS}, lease_expires_at, first_at, second_at, third_at)
SELECT {ROW.format(status="running", fence=1, owner="elsewhere/1 machine= boot= pids= start=")},
    now() - interval '2 min', now() - interval '1 min', now(), now(), now() FROM generate_series(1, %(n)s)
"""


class Claims(floor.Claims):
    def setup(self) -> None:
        self.models = made(self.url)

    def _fill(self, connection: psycopg.Connection, due: int, settled: int, *, analyse: bool = True) -> None:
        steps = {"steps": self.models.Insertion.names_of_steps()}
        connection.execute(f"TRUNCATE {TABLE}")
        connection.execute(f"ALTER TABLE {TABLE} SET (autovacuum_enabled = {'true' if analyse else 'false'})")
        connection.execute(f"DELETE FROM pg_statistic WHERE starelid = '{TABLE}'::regclass")
        connection.execute(SETTLED, {"n": settled, **steps})
        connection.execute(DUE, {"n": due, **steps})
        if analyse:
            connection.execute(f"VACUUM ANALYZE {TABLE}")

    def _analyse(self, connection: psycopg.Connection) -> None:
        connection.execute(f"VACUUM ANALYZE {TABLE}")

    def _one(self, connection: psycopg.Connection) -> None:
        from durable.contract import Taking, claim
        from durable.owner import current

        model = self.models.Insertion
        taking = Taking(also=model.can_carry_out())
        ((_, right),) = claim(model, using="default", owner=str(current()), lease=60.0, taking=taking)
        right.settle("done")


class BootPass(floor.BootPass):
    def setup(self) -> None:
        self.models = made(self.url)

    def figures(self, size: dict[str, Any]) -> dict[str, float]:
        steps = {"steps": self.models.Insertion.names_of_steps()}
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(SETTLED, {"n": size["settled"], **steps})
            connection.execute(INTERRUPTED, {"n": size["interrupted"], **steps})
            connection.execute(f"VACUUM ANALYZE {TABLE}")
            taken = seconds(self._pass)
            left = connection.execute(f"SELECT count(*) FROM {TABLE} WHERE settled_at IS NULL").fetchone()[0]
        if left:
            raise RuntimeError(f"{left} runs were left by the boot pass")
        return {"100 runs resumed": taken * 1e3}

    def _pass(self) -> None:
        from durable import kinds
        from durable.session import run_session

        models = kinds.registered()
        run_session(
            models, watch=False, threads=None, limit=None, wait=0.0, due_only=False, out=io.StringIO(), quiet=True
        )
