"""
Soak: workers that are killed, stopped, frozen and restarted at random while jobs come in; then everything is counted.

    python -m bench.soak --seconds 600 --workers 4 --seed 7

Prints what happened as JSON and ends with status 1 if a single job was lost or a single database effect happened twice.
It brings up a PostgreSQL server of its own, and kills that too.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

LEASE, POLL = 2.0, 0.2
LATE = 10 * LEASE  # seconds from start to settlement, above which a job counts as late
DRAIN = 120.0  # seconds for what is open at the end
MOST_OPEN = 200  # jobs: no more are started while so many wait


class Soak:
    """One soak: a crew of workers, a random number generator, and the things that may happen to the crew."""

    def __init__(self, server, workers, crew: int, seed: int) -> None:
        self.server, self.workers, self.random = server, workers, random.Random(seed)
        self.crew = [self._another() for _ in range(crew)]
        self.frozen: list[tuple[float, object]] = []
        self.happened: Counter[str] = Counter()
        self.started: Counter[str] = Counter()

    def _another(self):
        durable = {"LEASE": LEASE, "POLL": POLL, "GRACE": 1.0, "STEP_TIMEOUT": 10.0}
        return self.workers.start("--watch", "--threads", "2", durable=durable)

    def run(self, seconds: float) -> None:
        end, next_harm = time.monotonic() + seconds, time.monotonic() + 2
        while time.monotonic() < end:
            self._start_jobs()
            self._thaw()
            if time.monotonic() >= next_harm:
                self._harm()
                next_harm = time.monotonic() + self.random.uniform(0.3, 1.5)
            time.sleep(0.1)
        self._thaw(everybody=True)

    def _start_jobs(self) -> None:
        from tests.crash.app.models import Chore, Parcel

        if Chore.objects.open().count() + Parcel.objects.open().count() > MOST_OPEN:
            return
        for _ in range(self.random.randint(0, 3)):
            Chore.objects.start(seconds=self.random.choice([0.0, 0.05, 0.4]))
            Parcel.objects.start()
            self.started.update(["chore", "parcel"])

    def _harm(self) -> None:
        kind = self.random.choices(["kill", "terminate", "freeze", "kill the server"], [6, 3, 3, 0.4])[0]
        worker = self.random.choice(self.crew)
        self.happened[kind] += 1
        if kind == "kill the server":
            _close_connections()
            self.server.restart_after_kill()
        elif kind == "freeze":
            worker.send(signal.SIGSTOP)
            self.frozen.append((time.monotonic() + self.random.uniform(0.2, 2 * LEASE), worker))
        else:
            if kind == "kill":
                worker.kill()
            else:
                worker.send(signal.SIGCONT)
                worker.send(signal.SIGTERM)
                worker.ends(15)
            self.crew[self.crew.index(worker)] = self._another()

    def _thaw(self, *, everybody: bool = False) -> None:
        still = []
        for until, worker in self.frozen:
            if everybody or time.monotonic() >= until:
                with contextlib.suppress(ProcessLookupError):
                    worker.send(signal.SIGCONT)
            else:
                still.append((until, worker))
        self.frozen = still

    def drain(self) -> float:
        """Wait until nothing is open; return how long that took."""
        from tests.crash.app.models import Chore, Parcel

        began = time.monotonic()
        while time.monotonic() - began < DRAIN:
            if not Chore.objects.open().exists() and not Parcel.objects.open().exists():
                break
            time.sleep(0.2)
        return time.monotonic() - began

    def count(self) -> dict[str, object]:
        from tests.crash.app.models import Chore, Effect, Parcel

        expected = {Chore: {"begin", "last_long", "lasted", "finish"}, Parcel: {"weigh", "ship", "bill"}}
        effects: dict[object, Counter[str]] = {}
        for run, name in Effect.objects.values_list("run", "name"):
            effects.setdefault(run, Counter())[name] += 1
        lines = Counter(line.split()[0] for line in self.workers.ledger.read_text().splitlines())
        doubled = missing = late = settled = 0
        waits = []
        for model, names in expected.items():
            for job in model.objects.all():
                found = effects.get(job.pk, Counter())
                settled += job.status == "done"
                doubled += sum(times - 1 for times in found.values())
                missing += len(names - found.keys()) if job.status == "done" else 0
                if job.settled_at:
                    waits.append((job.settled_at - job.created_at).total_seconds())
                    late += waits[-1] > LATE
        waits.sort()
        return {
            "started": self.started.total(),
            "settled": settled,
            "lost": self.started.total() - settled,
            "duplicated": doubled,
            "missing_effects": missing,
            "late": late,
            "outside_calls": lines.total(),
            "outside_repeats": lines.total() - len(lines),
            "median_s": round(waits[len(waits) // 2], 2) if waits else None,
            "worst_s": round(waits[-1], 2) if waits else None,
            "harm": dict(self.happened),
        }


def _close_connections() -> None:
    from django.db import connections

    connections.close_all()


class _Unblocked:
    def unblock(self):
        return contextlib.nullcontext()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=None, help="the same seed, the same harm in the same order")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}", file=sys.stderr, flush=True)

    os.environ.update({"DJANGO_SETTINGS_MODULE": "tests.crash.settings", "DATABASE_URL": "sqlite:///:memory:"})
    import django

    django.setup()
    from tests.crash.server import migrated_server, orm_on
    from tests.crash.workers import Workers

    with tempfile.TemporaryDirectory(prefix="known-state-soak-") as folder, migrated_server(_Unblocked()) as server:
        crew = Workers(Path(folder), server.url)
        os.environ["CRASH_LEDGER"] = str(crew.ledger)
        crew.ledger.touch()
        with orm_on(server.url):
            try:
                soak = Soak(server, crew, options.workers, seed)
                soak.run(options.seconds)
                drained = soak.drain()
                found = {"seconds": options.seconds, "workers": options.workers, "seed": seed, **soak.count()}
            finally:
                crew.kill_all()
    found["drained_s"] = round(drained, 1)
    print(json.dumps(found, indent=1))
    return 1 if found["lost"] or found["duplicated"] or found["missing_effects"] else 0


if __name__ == "__main__":
    sys.exit(main())
