"""
The smallest table that can hold the promise: a lease, a fence, a due date and one receipt column a step.

All floors of W1, W3, W4, W5, W6 and W9 share it, and the statements on it, so that they differ only in who sends them.
"""

from bench.work import EFFECTS, STEPS

__all__ = ["CLAIM", "LAPSED", "RUNS", "SCHEMA", "SETTLE", "START", "stamp", "stamp_with_effect"]

RUNS = """
CREATE TABLE floor_run (
    id uuid PRIMARY KEY,
    status text NOT NULL,
    fence bigint NOT NULL DEFAULT 0,
    lease_expires_at timestamptz,
    due_at timestamptz,
    s1_at timestamptz, s2_at timestamptz, s3_at timestamptz, s4_at timestamptz, s5_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    settled_at timestamptz
) WITH (fillfactor = 70)
"""
SCHEMA = [RUNS, "CREATE INDEX floor_run_due ON floor_run (due_at) WHERE due_at IS NOT NULL", EFFECTS]

# Born claimed: the process that starts the run is the one that runs it.
START = """
INSERT INTO floor_run (id, status, fence, due_at, lease_expires_at)
VALUES (%s, 'running', 1, statement_timestamp(), statement_timestamp() + interval '60 s')
"""
# One due run, or one whose owner let its lease lapse, and the fence one higher.
CLAIM = """
UPDATE floor_run SET status = 'running', fence = fence + 1, lease_expires_at = statement_timestamp() + interval '60 s'
WHERE id = ANY(ARRAY(
    SELECT id FROM floor_run
    WHERE due_at <= statement_timestamp() AND (lease_expires_at IS NULL OR lease_expires_at < statement_timestamp())
    ORDER BY due_at LIMIT %s FOR UPDATE SKIP LOCKED))
RETURNING id, fence, s1_at, s2_at, s3_at, s4_at, s5_at
"""
SETTLE = """
UPDATE floor_run SET status = 'done', due_at = NULL, lease_expires_at = NULL, settled_at = statement_timestamp()
WHERE id = %s AND fence = %s AND status = 'running'
"""
LAPSED = "UPDATE floor_run SET lease_expires_at = statement_timestamp() - interval '1 s' WHERE status = 'running'"


def stamp(step: int) -> str:
    """The receipt of one step: fenced, and the last one settles the run. Parameters: id, fence."""
    settle = ""
    if step == STEPS:
        settle = ", status = 'done', due_at = NULL, lease_expires_at = NULL, settled_at = statement_timestamp()"
    return (
        f"UPDATE floor_run SET s{step}_at = statement_timestamp(){settle} "
        "WHERE id = %s AND fence = %s AND status = 'running'"
    )


def stamp_with_effect(step: int) -> str:
    """The receipt and the effect as one statement. Parameters: id, fence, step, body."""
    return (
        f"WITH mine AS ({stamp(step)} RETURNING id) "
        "INSERT INTO bench_effect (run, step, body) SELECT id::text, %s, %s FROM mine"
    )
