"""Who takes part: the floors, we, and the peers."""

from bench.entrant import FAST, Entrant
from bench.peers.listed import PEERS

__all__ = ["CONTENDERS", "Entrant"]

STEPS = "bench.floors.psycopg_steps"
PGBENCH = "bench.floors.pgbench_steps"
LOOP = "bench.floors.django_steps"

_FLOORS = [
    Entrant(
        name="pgbench",
        group="floor",
        guarantee="receipt with the effect, fenced",
        places={"W1": f"{PGBENCH}:Steps", "W10": f"{PGBENCH}:Steps"},
    ),
    Entrant(
        name="pgbench in one statement a step",
        group="floor",
        guarantee="receipt with the effect, fenced",
        places={"W1": f"{PGBENCH}:OneStatement"},
    ),
    Entrant(
        name="psycopg",
        group="floor",
        guarantee="receipt with the effect, fenced",
        places={
            "W1": f"{STEPS}:Steps",
            "W9": f"{STEPS}:Steps",
            "W10": f"{STEPS}:InThreads",
            "W2": "bench.floors.psycopg_outbox:OneByOne",
            "W3": "bench.floors.psycopg_claims:Claims",
            "W4": "bench.floors.psycopg_claims:BootPass",
            "W5": "bench.floors.psycopg_waking:Waking",
            "W6": "bench.floors.psycopg_waking:Recovery",
        },
    ),
    Entrant(
        name="psycopg in one statement a step",
        group="floor",
        guarantee="receipt with the effect, fenced",
        places={"W1": f"{STEPS}:OneStatement", "W9": f"{STEPS}:OneStatement"},
    ),
    Entrant(
        name="psycopg in hundreds",
        group="floor",
        guarantee="a hundred receipts in one statement, fenced",
        places={"W2": "bench.floors.psycopg_outbox:Hundreds"},
        by_itself=False,
        share=FAST,
    ),
    Entrant(
        name="Django with cursors",
        group="floor",
        guarantee="receipt with the effect, fenced",
        places={"W1": f"{LOOP}:Cursors", "W9": f"{LOOP}:Cursors"},
    ),
    Entrant(
        name="Django with prepared cursors",
        group="floor",
        guarantee="receipt with the effect, fenced",
        places={"W1": f"{LOOP}:PreparedCursors", "W9": f"{LOOP}:PreparedCursors"},
    ),
    Entrant(
        name="Django with the ORM",
        group="floor",
        guarantee="receipt with the effect, fenced",
        places={"W1": f"{LOOP}:Orm", "W9": f"{LOOP}:Orm"},
    ),
]

_OURS = [
    Entrant(
        name="durable",
        group="ours",
        guarantee="receipt with the effect, fenced, leased",
        places={
            "W1": "bench.ours.steps:Cursors",
            "W9": "bench.ours.steps:Cursors",
            "W10": "bench.ours.steps:InThreads",
            "W2": "bench.ours.outbox:OneByOne",
            "W3": "bench.ours.claims:Claims",
            "W4": "bench.ours.claims:BootPass",
            "W5": "bench.ours.waking:Waking",
            "W6": "bench.ours.waking:Recovery",
        },
    ),
    Entrant(
        name="durable with prepared statements",
        group="ours",
        guarantee="receipt with the effect, fenced, leased",
        places={
            "W1": "bench.ours.steps:Prepared",
            "W9": "bench.ours.steps:Prepared",
            "W10": "bench.ours.steps:PreparedInThreads",
        },
    ),
    Entrant(
        name="durable in four threads",
        group="ours",
        guarantee="receipt with the effect, fenced, leased",
        places={"W1": "bench.ours.steps:FourThreads"},
    ),
    Entrant(
        name="durable with ORM steps",
        group="ours",
        guarantee="receipt with the effect, fenced, leased",
        places={"W1": "bench.ours.steps:Orm", "W9": "bench.ours.steps:Orm"},
    ),
    Entrant(
        name="durable with a batch handler",
        group="ours",
        guarantee="one receipt statement a batch, fenced, leased",
        places={"W2": "bench.ours.outbox:Batches"},
        by_itself=False,
        share=FAST,
    ),
]

CONTENDERS = {entrant.name: entrant for entrant in (*_FLOORS, *_OURS, *PEERS)}
