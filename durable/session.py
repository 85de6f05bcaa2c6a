"""
Session: one `manage.py reconcile` from its options to its summary. The command parses and prints; this decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from django.db import InterfaceError, OperationalError, connections
from django.db.models.functions import Now

from . import clock, explain, kinds, waking, workers
from .attempt import Outcome
from .conf import setting
from .patience import limit_connection
from .progress import Progress
from .runner import Reconciler, Report
from .shutdown import Shutdown
from .terminal import printable

__all__ = ["Result", "run_session"]

_SENTENCES = 20
_LONGEST_NAP = 1.0
_BEGUN_WITHIN = 60.0  # seconds that a watcher goes on beginning while its connections are cut


@dataclass(slots=True)
class Result:
    """What a session did, for people and for programs."""

    report: Report
    orphans: list[tuple[str, int]]
    stopped_by: str = ""
    troubled: list[str] = field(default_factory=list)  # a sentence for each run that failed, the first few

    @property
    def failed(self) -> bool:
        """Whether the exit status should make somebody look."""
        return self.report.failed or bool(self.orphans)

    def as_json(self) -> dict[str, Any]:
        """Return the stable, documented form: keys are only ever added."""
        return {
            "outcomes": {outcome.value: self.report.outcomes[outcome] for outcome in Outcome},
            "taken_over": self.report.taken_over,
            "problems": self._problems(),
            "troubled": self.troubled,
            "stopped_by": self.stopped_by,
            "failed": self.failed,
        }

    def as_text(self) -> str:
        """Return the summary as a person reads it."""
        lines = []
        if self.report.taken_over:
            lines.append(f"Took over {self.report.taken_over} run(s) of processes of this host that no longer exist.")
        lines += self.troubled + self._problems()
        counts = [
            f"{self.report.outcomes[outcome]} {outcome.value}" for outcome in Outcome if self.report.outcomes[outcome]
        ]
        lines.append(f"Reconciled: {', '.join(counts)}." if counts else "Nothing to reconcile.")
        if self.stopped_by:
            lines.append(f"Stopped by {self.stopped_by}; what was in hand is finished or released.")
        return "\n".join(lines)

    def _problems(self) -> list[str]:
        gone = [
            f"{table}: {count} open run(s), but no class of this code has that table (kind unknown). "
            "They are kept; bring the app back, or settle them by hand."
            for table, count in self.orphans
        ]
        return [*self.report.problems, *gone]


def run_session(
    models: list[type[Any]],
    *,
    watch: bool,
    threads: int | None,
    limit: int | None,
    wait: float,
    due_only: bool,
    out: Any,
    quiet: bool,
    lanes: Mapping[type[Any], frozenset[str]] = MappingProxyType({}),
) -> Result:
    """
    Reconcile, in the foreground, until done or told to stop.

    Args:
        models: the kinds to look after; all of them: tables without a class are reported too.
        threads: runs in flight; None: the THREADS setting, or 1 where the database has one writer.
        wait: seconds to wait for leases of workers that may be dead.
        lanes: of these kinds, only the lanes of those names.
        out: where progress and the summary go: a stream with `write`.

    Raises:
        django.db.Error: the database cannot be used at all.
    """
    everything = not lanes and set(models) == set(kinds.registered())
    aliases = {kinds.alias_of(model) for model in models}
    for alias in aliases:
        limit_connection(alias, float(setting("LEASE")))
        connections[alias].ensure_connection()  # one that was never there is the caller's to hear of, at once
    orphans: list[tuple[str, int]] = []
    troubled: list[str] = []

    with Shutdown(grace=float(setting("GRACE")), code=0 if watch else 1) as shutdown, Progress(out, quiet=quiet) as bar:

        def on_outcome(run: Any, outcome: Outcome) -> None:
            bar.advance(run, outcome)
            if outcome in (Outcome.FAILED, Outcome.DEAD) and len(troubled) < _SENTENCES and not watch:
                now = kinds.rows_of(type(run)).filter(pk=run.pk).first()
                sentence = explain.explain(now) if now else "its row is gone"
                troubled.append(f"{kinds.name_of(type(run))} {run.key or run.pk}: {sentence}")

        reconciler = Reconciler(
            models, shutdown, threads=threads or _default_threads(aliases), boot=not due_only, limit=limit,
            on_outcome=on_outcome, on_maintain=workers.here, lanes=lanes,
        )  # fmt: skip

        def begin() -> None:
            orphans[:] = [found for alias in sorted(aliases) for found in kinds.orphans(alias)] if everything else []
            workers.sign_on(watches=watch, threads=reconciler.threads)
            if watch:
                reconciler.prepare()

        if watch:
            bar.say(f"Watching {len(models)} kind(s), {reconciler.threads} thread(s). Ctrl-C or SIGTERM stops.")
            _outliving_its_connection(begin, aliases, shutdown)
            for problem in Result(reconciler.report, orphans)._problems():
                bar.say(problem)
            with waking.listening(aliases, reconciler.wake_one):
                reconciler.watch(float(setting("POLL")))
        else:
            begin()
            _passes(reconciler, models, shutdown, bar, wait)
        workers.sign_off()
    result = Result(reconciler.report, orphans, shutdown.name, troubled)
    if not quiet:
        out.write(printable(result.as_text()))
    return result


def _outliving_its_connection(begin: Callable[[], None], aliases: set[str], shutdown: Shutdown) -> None:
    """Begin, and once more where the connection was lost meanwhile: who watches outlives its database."""
    give_up = time.monotonic() + _BEGUN_WITHIN
    while True:
        try:
            begin()
        except (OperationalError, InterfaceError):
            lost = [one for alias in aliases if not (one := connections[alias]).is_usable()]
            if not lost or shutdown.stopping() or time.monotonic() > give_up:
                raise
            for connection in lost:
                connection.close()
            shutdown.asked.wait(_LONGEST_NAP)
        else:
            return


def _passes(reconciler: Reconciler, models: list[type[Any]], shutdown: Shutdown, bar: Progress, wait: float) -> None:
    """One pass, and another each time a lease of somebody else lapses within the time we wait."""
    give_up = time.monotonic() + wait
    while True:
        reconciler.prepare()
        if bar.is_shown:
            bar.expect(sum(kinds.rows_of(model).open().count() for model in models))
        reconciler.run_pass()
        reconciler.leave_to_backoff()
        nap = _until_a_lease_lapses(models)
        if nap is None or shutdown.stopping() or time.monotonic() + nap > give_up:
            return
        bar.say(f"Waiting {nap:.0f} s for a lease to lapse.")
        deadline = time.monotonic() + nap
        while time.monotonic() < deadline and not shutdown.asked.wait(min(_LONGEST_NAP, nap)):
            pass


def _until_a_lease_lapses(models: list[type[Any]]) -> float | None:
    """Return the seconds until the first lease held by others runs out, or None where nobody holds any."""
    naps = []
    for model in models:
        alias = kinds.alias_of(model)
        held = kinds.rows_of(model).filter(
            status=model.MACHINE.claimed, settled_at__isnull=True, lease_expires_at__gt=Now()
        )
        end = held.order_by("lease_expires_at").values_list("lease_expires_at", flat=True).first()
        if end is not None:
            naps.append((end - clock.read(connections[alias])).total_seconds())
    return max(0.05, min(naps) + 0.05) if naps else None


def _default_threads(aliases: set[str]) -> int:
    # SQLite has one writer, and a test case's open transaction is visible to its own thread alone.
    alone = any(connections[alias].vendor == "sqlite" or connections[alias].in_atomic_block for alias in aliases)
    return 1 if alone else int(setting("THREADS"))
