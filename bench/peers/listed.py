"""
The peers that take part, and in what.

Each has a virtual environment of its own, so that no two of them can disagree about a dependency.
"""

from bench.entrant import FAST, SLOW, Entrant

__all__ = ["PEERS"]

#: What a peer's module calls its part in each workload.
_PARTS = {
    "W1": "Steps",
    "W2": "Outbox",
    "W3": "Claims",
    "W4": "BootPass",
    "W5": "Waking",
    "W6": "Recovery",
    "W9": "Steps",
}


def _plays(module: str, *workloads: str) -> dict[str, str]:
    return {workload: f"bench.peers.{module}:{_PARTS[workload]}" for workload in workloads}


_CHAIN = "a job a step; effect, then completion: at least once"
PEERS = [
    Entrant(
        name="DBOS",
        group="peer",
        guarantee="step receipt with the effect (transaction steps); replayed workflow",
        places=_plays("dbos_peer", "W1", "W9", "W2") | _plays("dbos_scenarios", "W3", "W4", "W5", "W6"),
        packages=("dbos>=3", "psycopg[binary]"),
        share=SLOW,
    ),
    Entrant(
        name="Absurd",
        group="peer",
        guarantee="checkpoint after the effect: at least once",
        places=_plays("absurd_peer", "W1", "W9", "W2", "W3", "W4", "W5"),
        share={"W2": 0.25},
        packages=("absurd-sdk", "absurdctl", "psycopg[binary]"),
    ),
    Entrant(
        name="Procrastinate",
        group="peer",
        guarantee=_CHAIN,
        places=_plays("procrastinate_peer", "W1", "W2", "W3", "W5"),
        packages=("procrastinate>=3", "psycopg[binary,pool]"),
        share=SLOW,
    ),
    Entrant(
        name="PgQueuer",
        group="peer",
        guarantee=f"{_CHAIN}; completions are buffered and can be lost, then repeat",
        places=_plays("pgqueuer_peer", "W1", "W2", "W3", "W5"),
        packages=("pgqueuer[asyncpg]", "psycopg[binary]"),
        by_itself=False,
        share=FAST,
    ),
    Entrant(
        name="oban",
        group="peer",
        guarantee=f"{_CHAIN}; completions are gathered and can be lost, then repeat",
        by_itself=False,
        places=_plays("oban_peer", "W1", "W2", "W3", "W5"),
        packages=("oban", "psycopg[binary,pool]"),
        python=(3, 12),
    ),
    Entrant(
        name="Chancy",
        group="peer",
        guarantee=_CHAIN,
        places=_plays("chancy_peer", "W1", "W2", "W3", "W5"),
        packages=("chancy", "psycopg[binary,pool]"),
        by_itself=False,
    ),
    Entrant(
        name="django-tasks-db",
        group="peer",
        guarantee="a job a step; no lease: a killed worker's job stays running",
        places=_plays("django_tasks_peer", "W1", "W2", "W3", "W5"),
        packages=("django-tasks-db", "django>=6", "psycopg[binary]"),
        python=(3, 12),
        share=SLOW,
    ),
    Entrant(
        name="django-ox",
        group="peer",
        guarantee=_CHAIN,
        places=_plays("django_ox_peer", "W1", "W2", "W3", "W5"),
        packages=("django-ox", "psycopg[binary]"),
        python=(3, 12),
        share=SLOW,
    ),
    Entrant(
        name="django-q2",
        group="peer",
        guarantee=_CHAIN,
        places=_plays("django_q2_peer", "W1", "W2", "W5"),
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
