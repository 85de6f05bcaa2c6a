"""
Receipts: what is recorded of each step of a job, read from its columns and its step log.
"""

from __future__ import annotations

from typing import Any

from .run import Receipt

__all__ = ["of_steps"]


def of_steps(job: Any) -> list[Receipt]:
    """Return one receipt per step, in the order they run; `at` is None where a step is still to come."""
    by = _who_did_what(job)
    found = []
    for name, step in job.steps().items():
        at, log = getattr(job, step.column), job.step_log.get(name, {})
        owner, fence = by.get(name, ("", None))
        failed = sum(entry.get("step") == name for entry in job.failures)
        found.append(
            Receipt(
                step=name,
                guarantee=step.guarantee,
                at=at,
                took=log.get("took"),
                owner=owner,
                fence=fence,
                starts=log.get("starts", 1) if at and "skipped" not in log else failed,
                skipped=log.get("skipped", ""),
                key=job.key_for(name) if step.external else "",
            )
        )
    return found


def _who_did_what(job: Any) -> dict[str, tuple[str, int | None]]:
    """Return owner and fence of each receipt: those of the last one before it, in time, that names them."""
    found: dict[str, tuple[str, int | None]] = {}
    recorded = [(getattr(job, step.column), name) for name, step in job.steps().items()]
    latest: tuple[str, int | None] = ("", None)
    for _, name in sorted((pair for pair in recorded if pair[0] is not None), key=lambda pair: pair[0]):
        log = job.step_log.get(name, {})
        if "fence" in log:
            latest = (log["by"], log["fence"])
        found[name] = latest
    return found
