"""
The handlers: e-mail, Telegram, webhooks. Every worker imports this module, as it is named `outbox`.

Each has a timeout of its own below that of its lease, asks for the reader's wishes when it sends, and lets quiet hours
defer what is not urgent.
"""

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMultiAlternatives
from django.db import connection
from django.utils.html import escape, linebreaks

from durable import Refused, Wait, outbox
from durable.clock import read
from durable.contrib.email import identified, outgoing, telling_refusals

from . import telegram, webhooks
from .models import Preferences
from .notifying import topic_of
from .quiet import seconds_until_loud
from .wording import words_of, words_of_many

__all__ = ["send_by_email", "send_by_telegram", "send_by_webhook"]


@outbox.handler(topic_of("email"), external="at-least-once", attempts=8, timeout=60)
def send_by_email(message):
    """One mail. A repeat has the same Message-ID."""
    wishes = _wishes(message, "email")
    subject, body = _words(message, wishes)
    mail = EmailMultiAlternatives(subject, body, settings.DEFAULT_FROM_EMAIL, [wishes.email])
    mail.attach_alternative(linebreaks(escape(body)), "text/html")
    with telling_refusals(), outgoing() as backend:
        backend.send_messages([identified(mail, message)])
    return mail.extra_headers["Message-ID"]


@outbox.handler(topic_of("telegram"), external="at-least-once", attempts=8, timeout=60, concurrency=4)
def send_by_telegram(message):
    """One Telegram message. The Bot API takes no key, so a repeat is seen."""
    wishes = _wishes(message, "telegram")
    subject, body = _words(message, wishes)
    try:
        return telegram.send(wishes.telegram, f"{subject}\n\n{body}")
    except telegram.Blocked as error:
        Preferences.objects.filter(pk=wishes.pk, telegram=wishes.telegram).update(telegram="")
        raise Refused(str(error)) from error


@outbox.handler(topic_of("webhook"), external="keyed", attempts=8, timeout=60)
def send_by_webhook(message):
    """One signed POST. The receiver tells a repeat by its webhook-id."""
    wishes = _wishes(message, "webhook", quiet=False)
    subject, body = _words(message, wishes)
    data = {"type": "digest" if message.payload["digest"] else message.payload["items"][0][0],
            "subject": subject, "body": body, "items": message.payload["items"]}  # fmt: skip
    try:
        return webhooks.send(wishes.webhook, wishes.webhook_secret, message.key, message.created_at, data)
    except webhooks.Gone as error:
        Preferences.objects.filter(pk=wishes.pk, webhook=wishes.webhook).update(webhook="")
        raise Refused(str(error)) from error


def _wishes(message, channel, *, quiet=True):
    """Return the reader's wishes as they are now; wait where it is night for them, stop where they want none of it."""
    user = get_user_model().objects.filter(pk=message.payload["user"], is_active=True).first()
    wishes = user and Preferences.objects.filter(user=user).first()
    if not wishes or not getattr(wishes, channel):
        why = f"the reader has no {channel} any more"
        raise Refused(why)
    if quiet and not message.payload["urgent"]:
        seconds = seconds_until_loud(read(connection), wishes.timezone, wishes.quiet_from, wishes.quiet_until)
        if seconds:
            raise Wait(seconds, f"quiet hours of the reader until {wishes.quiet_until:%H:%M} ({wishes.timezone})")
    return wishes


def _words(message, wishes):
    items = message.payload["items"]
    if message.payload["digest"]:
        return words_of_many(items, wishes.language)
    return words_of(*items[0], wishes.language)
