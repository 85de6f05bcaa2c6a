"""
Digests: what waits is marked as told in the transaction that posts it, so no window can be lost.

There is no window of time at all. A notification waits until a digest holds it; one that was committed late is in the
next. When the next digest is due is counted from when this one was due, so a timer that comes early or late skips nobody.
"""

import datetime as dt
import logging

from django.db import Error, connection, transaction
from django.db.models.functions import Now

from durable.clock import read

from .models import Digest, Notification, Preferences
from .notifying import post_digest

__all__ = ["post_digests"]

logger = logging.getLogger(__name__)

_EVERY = {Preferences.Digest.DAILY: dt.timedelta(days=1), Preferences.Digest.WEEKLY: dt.timedelta(days=7)}


def post_digests():
    """Post a digest to everybody who is due one. Return (posted, failed): one person's failure stops nobody else."""
    due = Preferences.objects.filter(digest__in=list(_EVERY), digest_due_at__lte=Now()).order_by("pk")
    posted = failed = 0
    for pk in list(due.values_list("pk", flat=True)):
        try:
            posted += _post_one(pk)
        except (Error, ValueError, KeyError):
            logger.exception("digest failed preferences=%s", pk)
            failed += 1
    return posted, failed


@transaction.atomic
def _post_one(pk):
    # Two timers at once: the second waits here, and then finds that nothing is due.
    wishes = (
        Preferences.objects.select_for_update()
        .filter(pk=pk, digest__in=list(_EVERY), digest_due_at__lte=Now())
        .select_related("user")
        .first()
    )
    if wishes is None:
        return 0
    now, every = read(connection), _EVERY[wishes.digest]
    missed = (now - wishes.digest_due_at) // every
    Preferences.objects.filter(pk=pk).update(digest_due_at=wishes.digest_due_at + every * (missed + 1))
    waiting = list(
        Notification.objects.select_for_update().filter(user=wishes.user, waits_for_digest=True).order_by("pk")
    )
    if not waiting:
        return 0
    digest = Digest.objects.create(user=wishes.user)
    Notification.objects.filter(pk__in=[one.pk for one in waiting]).update(waits_for_digest=False, digest=digest)
    post_digest(wishes.user, digest, waiting)
    return 1
