"""Progress: a bar on a terminal where rich is installed, nothing moving anywhere else."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from . import signals
from .attempt import Outcome

__all__ = ["Progress"]


class Progress:
    """Shows how far a pass has come. Safe to call from worker threads."""

    def __init__(self, out: Any, *, quiet: bool) -> None:
        self._out = out
        self._quiet = quiet
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        self._within: dict[Any, Any] = {}

    def __enter__(self) -> Progress:
        if not self._quiet and getattr(self._out, "isatty", bool)():
            self._bar = _rich_bar()
        if self._bar is not None:
            signals.run_progressed.connect(self._progressed)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            signals.run_progressed.disconnect(self._progressed)
        if self._bar is not None and self._task is not None:
            self._bar.stop()

    def _progressed(self, sender: Any, run: Any, seen: int, total: int, **_: Any) -> None:
        """One pass has come so far: it has a line of its own."""
        with self._lock:
            if run.pk not in self._within:
                self._within[run.pk] = self._bar.add_task(str(run), total=total)
            self._bar.update(self._within[run.pk], completed=seen, total=total)

    @property
    def is_shown(self) -> bool:
        """Whether anybody sees it, so that counting for it is worth while."""
        return self._bar is not None

    def expect(self, runs: int) -> None:
        """So many runs are open; some may be held by others."""
        if self._bar is not None and runs:
            if self._task is None:
                self._task = self._bar.add_task("reconciling", total=runs)
                self._bar.start()
            else:
                self._bar.update(self._task, total=runs)

    def advance(self, run: Any, outcome: Outcome) -> None:
        """One run came to an end."""
        with self._lock:
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, advance=1, description=f"{run._meta.verbose_name} {outcome.value}")

    def say(self, sentence: str) -> None:
        """Print a sentence, above the bar if there is one."""
        with self._lock:
            if self._quiet:
                return
            if self._bar is not None and self._task is not None:
                self._bar.console.print(sentence, markup=False, highlight=False)
            else:
                self._out.write(sentence)


def _rich_bar() -> Any:
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
    except ImportError:
        return None
    return Bar(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), transient=True)
