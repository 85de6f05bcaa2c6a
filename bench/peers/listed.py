"""
The peers that take part, and in what.

Each has a virtual environment of its own, so that no two of them can disagree about a dependency.
"""

from bench.entrant import FAST, SLOW, Entrant

__all__ = ["PEERS"]

_CHAIN = "a job a step; effect, then completion: at least once"
PEERS = [
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
        places={
            "W1": "bench.peers.django_q2_peer:Steps",
            "W2": "bench.peers.django_q2_peer:Outbox",
            "W5": "bench.peers.django_q2_peer:Waking",
        },
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
