"""
W3 and W4 by us: claiming and settling in a full table, and the boot pass that `manage.py reconcile` makes.

The tables are filled with SQL, as the floor's are, because starting a million runs is not what is measured.
"""

import io

import psycopg

from bench.filling import UUID
from bench.floors import psycopg_claims as floor
from bench.ours.site import made

__all__ = ["BootPass", "Claims"]

TABLE = "bench_ours_insertion"
COLUMNS = "id, status, fence, owner, attempts, losses, last_error, failures, step_names, step_log, due_at"
ROW = UUID + ", '{status}', {fence}, '{owner}', {fence}, 0, '', '[]', %(steps)s, '{{}}'"
DUE = f"""
INSERT INTO {TABLE} ({COLUMNS}) SELECT {ROW.format(status="pending", fence=0, owner="")},
    statement_timestamp() - interval '1 s' * (1 + random()) FROM generate_series(1, %(n)s) n
"""
SETTLED = f"""
INSERT INTO {TABLE} ({COLUMNS}, settled_at, first_at, second_at, third_at, fourth_at, fifth_at)
SELECT {ROW.format(status="done", fence=1, owner="")}, NULL, now(), now(), now(), now(), now(), now()
FROM generate_series(1, %(n)s) n
"""
INTERRUPTED = f"""
INSERT INTO {TABLE} ({COLUMNS}, lease_expires_at, first_at, second_at, third_at)
SELECT {ROW.format(status="running", fence=1, owner="elsewhere/1 machine= boot= pids= start=")},
    now() - interval '2 min', now() - interval '1 min', now(), now(), now() FROM generate_series(1, %(n)s) n
"""


class _Scenario:
    table = TABLE
    settled, due, interrupted = SETTLED, DUE, INTERRUPTED

    def setup(self) -> None:
        self.models = made(self.url)
        self.given = {"steps": self.models.Insertion.names_of_steps()}


class Claims(_Scenario, floor.Claims):
    def _one(self, connection: psycopg.Connection) -> None:
        from durable.contract import Taking, claim
        from durable.owner import current

        model = self.models.Insertion
        taking = Taking(also=model.can_carry_out())
        ((_, right),) = claim(model, using="default", owner=str(current()), lease=60.0, taking=taking)
        right.settle("done")


class BootPass(_Scenario, floor.BootPass):
    def _pass(self) -> None:
        from durable import kinds
        from durable.session import run_session

        models = kinds.registered()
        run_session(
            models, watch=False, threads=None, limit=None, wait=0.0, due_only=False, out=io.StringIO(), quiet=True
        )
