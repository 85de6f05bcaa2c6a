"""
Who takes part: the floors, we, and the peers; where each one's code is; what each promises; what it needs installed.

A peer has a virtual environment of its own, so that no two of them can disagree about a dependency.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["CONTENDERS", "Entrant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    name: str
    group: str  # "floor", "ours" or "peer"
    guarantee: str
    places: Mapping[str, str]  # workload → "module:Class"
    packages: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 11)  # the least it runs on
    needs: str = field(default="")  # a program that must be on PATH
    by_itself: bool = True  # each message's completion is written durably before the next is told done
    share: Mapping[str, float] = field(default_factory=dict)  # of a workload's n: who is slow does less of it


SLOW = {"W1": 0.25, "W2": 0.25}
FAST = {"W2": 4.0}

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

_CHAIN = "a job a step; effect, then completion: at least once"
_PEERS = [
    Entrant(
        name="DBOS",
        group="peer",
        guarantee="step receipt with the effect (transaction steps); replayed workflow",
        places={
            "W1": "bench.peers.dbos_peer:Steps",
            "W9": "bench.peers.dbos_peer:Steps",
            "W2": "bench.peers.dbos_peer:Outbox",
            "W3": "bench.peers.dbos_scenarios:Claims",
            "W4": "bench.peers.dbos_scenarios:BootPass",
            "W5": "bench.peers.dbos_scenarios:Waking",
            "W6": "bench.peers.dbos_scenarios:Recovery",
        },
        packages=("dbos>=3", "psycopg[binary]"),
        share=SLOW,
    ),
    Entrant(
        name="Absurd",
        group="peer",
        guarantee="checkpoint after the effect: at least once",
        places={
            "W1": "bench.peers.absurd_peer:Steps",
            "W9": "bench.peers.absurd_peer:Steps",
            "W2": "bench.peers.absurd_peer:Outbox",
            "W3": "bench.peers.absurd_peer:Claims",
            "W4": "bench.peers.absurd_peer:BootPass",
            "W5": "bench.peers.absurd_peer:Waking",
        },
        share={"W2": 0.25},
        packages=("absurd-sdk", "absurdctl", "psycopg[binary]"),
    ),
    Entrant(
        name="Procrastinate",
        group="peer",
        guarantee=_CHAIN,
        places={
            "W1": "bench.peers.procrastinate_peer:Steps",
            "W2": "bench.peers.procrastinate_peer:Outbox",
            "W3": "bench.peers.procrastinate_peer:Claims",
            "W5": "bench.peers.procrastinate_peer:Waking",
        },
        packages=("procrastinate>=3", "psycopg[binary,pool]"),
        share=SLOW,
    ),
    Entrant(
        name="PgQueuer",
        group="peer",
        guarantee=f"{_CHAIN}; completions are buffered and can be lost, then repeat",
        places={
            "W1": "bench.peers.pgqueuer_peer:Steps",
            "W2": "bench.peers.pgqueuer_peer:Outbox",
            "W3": "bench.peers.pgqueuer_peer:Claims",
            "W5": "bench.peers.pgqueuer_peer:Waking",
        },
        packages=("pgqueuer[asyncpg]", "psycopg[binary]"),
        by_itself=False,
        share=FAST,
    ),
    Entrant(
        name="oban",
        group="peer",
        guarantee=f"{_CHAIN}; completions are gathered and can be lost, then repeat",
        by_itself=False,
        places={
            "W1": "bench.peers.oban_peer:Steps",
            "W2": "bench.peers.oban_peer:Outbox",
            "W3": "bench.peers.oban_peer:Claims",
            "W5": "bench.peers.oban_peer:Waking",
        },
        packages=("oban", "psycopg[binary,pool]"),
        python=(3, 12),
    ),
    Entrant(
        name="Chancy",
        group="peer",
        guarantee=_CHAIN,
        places={
            "W1": "bench.peers.chancy_peer:Steps",
            "W2": "bench.peers.chancy_peer:Outbox",
            "W3": "bench.peers.chancy_peer:Claims",
            "W5": "bench.peers.chancy_peer:Waking",
        },
        packages=("chancy", "psycopg[binary,pool]"),
        by_itself=False,
    ),
    Entrant(
        name="django-tasks-db",
        group="peer",
        guarantee="a job a step; no lease: a killed worker's job stays running",
        places={
            "W1": "bench.peers.django_tasks_peer:Steps",
            "W2": "bench.peers.django_tasks_peer:Outbox",
            "W3": "bench.peers.django_tasks_peer:Claims",
            "W5": "bench.peers.django_tasks_peer:Waking",
        },
        packages=("django-tasks-db", "django>=6", "psycopg[binary]"),
        python=(3, 12),
        share=SLOW,
    ),
    Entrant(
        name="django-ox",
        group="peer",
        guarantee=_CHAIN,
        places={
            "W1": "bench.peers.django_ox_peer:Steps",
            "W2": "bench.peers.django_ox_peer:Outbox",
            "W3": "bench.peers.django_ox_peer:Claims",
            "W5": "bench.peers.django_ox_peer:Waking",
        },
        packages=("django-ox", "psycopg[binary]"),
        python=(3, 12),
        share=SLOW,
    ),
    Entrant(
        name="django-q2",
        group="peer",
        guarantee=_CHAIN,
        places={"W1": "bench.peers.django_q2_peer:Steps", "W2": "bench.peers.django_q2_peer:Outbox"},
        packages=("django-q2", "psycopg[binary]"),
        share=SLOW,
    ),
    Entrant(
        name="Celery on Redis",
        group="peer",
        guarantee="acknowledged after the work (acks_late), Redis synced every second: up to a second can be lost",
        places={"W2": "bench.peers.celery_peer:Outbox"},
        packages=("celery[redis]", "packaging", "psycopg[binary]"),
        needs="redis-server",
        by_itself=False,
        share=SLOW,
    ),
]

CONTENDERS = {entrant.name: entrant for entrant in (*_FLOORS, *_OURS, *_PEERS)}
