"""
Pruning: old content goes, receipts stay.

A pruned revision keeps its row: version, save id, digest, who and when. So versions stay contiguous, and a repeat of a
save from long ago is still known for what it is. Kept whole: heads, the newest N of each document, what is younger than
the age given, and every version a conflict was made on or refused at.
"""

from collections.abc import Iterator
from datetime import timedelta

from django.db import models
from django.db.models.functions import Now

from .database import database
from .models import Conflict, Revision

__all__ = ["prunable", "prune"]

BATCH = 500


def prunable(*, keep: int, older_than: timedelta, kind: str = "") -> models.QuerySet[Revision]:
    """Return the revisions whose content may go, by the database's clock."""
    referred = Conflict.objects.filter(document_id=models.OuterRef("document_id")).filter(
        models.Q(base_version=models.OuterRef("version")) | models.Q(stored_version=models.OuterRef("version"))
    )
    rows = Revision.objects.using(database()).filter(
        ~models.Exists(referred),
        pruned_at=None,
        at__lt=Now() - older_than,
        version__lte=models.F("document__version") - max(keep, 1),
    )
    return rows.filter(document__kind=kind) if kind else rows


def prune(*, keep: int, older_than: timedelta, kind: str = "") -> Iterator[tuple[int, int]]:
    """
    Take the content of what may go, page by page; yield (revisions, bytes) of each page.

    Each page is its own transaction outside the caller's: stop it anywhere, run it again. The conditions are asked
    again in the UPDATE, so what a conflict has begun to refer to meanwhile stays.
    """
    after = 0
    while page := list(
        prunable(keep=keep, older_than=older_than, kind=kind)
        .filter(pk__gt=after)
        .order_by("pk")
        .values_list("pk", "size")[:BATCH]
    ):
        after = page[-1][0]
        gone = prunable(keep=keep, older_than=older_than, kind=kind).filter(pk__in=[pk for pk, _ in page])
        count = gone.update(content="", pruned_at=Now())
        yield count, sum(size for _, size in page)
