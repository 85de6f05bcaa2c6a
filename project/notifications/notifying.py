"""Notifying: a notification and its messages are recorded in the transaction of what they tell of."""

from django.db import transaction

from durable import outbox

from .models import Notification, Preferences
from .wording import KINDS

__all__ = ["notify", "post_digest", "topic_of"]

#: One topic a channel, so that a slow or paused provider holds up no other.
topic_of = "notifications.{}".format


def notify(user, kind, facts, *, key):
    """
    Tell a person something, through each channel they use. Call it in the transaction that makes it true.

    Args:
        user: whom.
        kind: a name in KINDS.
        facts: JSON that the kind's words need.
        key: names the event; the same key tells the same person once, however often this is called.
    """
    if kind not in KINDS:
        message = f"there is no kind of notification {kind!r}; known: {', '.join(sorted(KINDS))}"
        raise ValueError(message)
    with transaction.atomic():
        wishes = Preferences.objects.filter(user=user).first()
        waits = bool(wishes and wishes.digest != Preferences.Digest.INSTANT and not KINDS[kind].urgent)
        notification, is_new = Notification.objects.get_or_create(
            key=f"{user.pk}:{key}", defaults={"user": user, "kind": kind, "facts": facts, "waits_for_digest": waits}
        )
        if is_new and wishes and not waits:
            for channel in wishes.channels:
                _post(channel, user, [notification], f"notification:{notification.pk}", urgent=KINDS[kind].urgent)
    return notification


def post_digest(user, digest, notifications):
    """Post one digest through each channel of its reader, in the caller's transaction."""
    for channel in user.preferences.channels:
        _post(channel, user, notifications, f"digest:{digest.pk}", urgent=False)


def _post(channel, user, notifications, name, *, urgent):
    items = [[one.kind, one.facts] for one in notifications]
    payload = {"user": user.pk, "items": items, "digest": name.startswith("digest:"), "urgent": urgent}
    # One reader's messages keep their order; another reader's never wait for them.
    outbox.post(topic_of(channel), payload, key=name, ordering_key=f"user:{user.pk}")
