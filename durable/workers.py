"""
Workers: which processes reconcile, and when they were last seen. For people only; correctness never rests on it.

A lease says who holds a run. Where nothing is due nobody holds any, and only this table tells an idle worker from none.
A worker signs on, says once a minute that it is there, and signs off. A table that cannot be written stops nobody.
"""

from __future__ import annotations

import logging
from typing import Any

from django.db import Error, connections, models, router
from django.db.models.functions import Now

from .clock import InSeconds
from .owner import current
from .patience import patience

__all__ = ["FRESH", "Worker", "here", "sign_off", "sign_on"]

logger = logging.getLogger("durable")

FRESH = 180.0  # seconds after which a worker that has not been seen is taken for gone
_FORGOTTEN = 7 * 86400.0
_SILENCE = 10.0  # seconds a database may take to answer


class Worker(models.Model):
    """One process that reconciles, or did."""

    owner = models.CharField(max_length=200, primary_key=True, editable=False)
    watches = models.BooleanField(editable=False)  # False: a boot pass, which ends by itself
    threads = models.PositiveSmallIntegerField(editable=False)
    began_at = models.DateTimeField(db_default=Now(), editable=False)
    seen_at = models.DateTimeField(db_default=Now(), editable=False, db_index=True)
    ended_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return str(self.owner).partition(" ")[0]


def sign_on(*, watches: bool, threads: int) -> None:
    """Say that this process begins to reconcile."""

    def write(rows: Any) -> None:
        rows.filter(seen_at__lt=InSeconds(-_FORGOTTEN)).delete()
        if not rows.filter(owner=str(current())).update(
            watches=watches, threads=threads, began_at=Now(), seen_at=Now(), ended_at=None
        ):
            worker = Worker(owner=str(current()), watches=watches, threads=threads)
            rows.bulk_create([worker], ignore_conflicts=True)

    _quietly(write)


def here() -> None:
    """Say that this process is still there."""
    _quietly(lambda rows: rows.filter(owner=str(current())).update(seen_at=Now()))


def sign_off() -> None:
    """Say that this process has ended as it should."""
    _quietly(lambda rows: rows.filter(owner=str(current())).update(seen_at=Now(), ended_at=Now()))


def _quietly(write: Any) -> None:
    using = router.db_for_write(Worker)
    if connections[using].in_atomic_block:
        return  # a test's transaction, or a caller's: an error here would take it along
    try:
        with patience(using, _SILENCE):
            write(Worker._base_manager.using(using))
    except Error as error:
        logger.info("worker not recorded error=%s", str(error).partition("\n")[0])
