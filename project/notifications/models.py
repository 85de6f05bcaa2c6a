"""
What people are told, and how they want to be told.

A notification holds no text: a kind and its facts. It becomes words when it is sent, in the language its reader has then.
"""

import zoneinfo

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class Preferences(models.Model):
    """How one person wants to be told. An empty address is a channel that is not used."""

    class Digest(models.TextChoices):
        INSTANT = "instant", _("at once")
        DAILY = "daily", _("once a day")
        WEEKLY = "weekly", _("once a week")

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preferences")
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, default="en")
    timezone = models.CharField(max_length=64, default="UTC")
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_until = models.TimeField(null=True, blank=True)
    email = models.EmailField(blank=True)
    telegram = models.CharField(max_length=64, blank=True)
    webhook = models.URLField(blank=True)
    webhook_secret = models.CharField(max_length=100, blank=True)
    digest = models.CharField(max_length=10, choices=Digest, default=Digest.INSTANT)
    digest_due_at = models.DateTimeField(db_default=Now(), db_index=True)

    def __str__(self):
        return f"preferences of {self.user}"

    def clean(self):
        try:
            zoneinfo.ZoneInfo(self.timezone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
            message = _("%(name)s is not a time zone.")
            raise ValidationError({"timezone": ValidationError(message, params={"name": self.timezone})}) from error

    @property
    def channels(self):
        """The channels this person uses."""
        return [channel for channel in ("email", "telegram", "webhook") if getattr(self, channel)]


class Digest(models.Model):
    """Several notifications told at once."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="digests")
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self):
        return f"digest {self.pk}"


class Notification(models.Model):
    """One thing one person should know."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications")
    kind = models.CharField(max_length=40)
    facts = models.JSONField(default=dict)
    key = models.CharField(max_length=150, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    waits_for_digest = models.BooleanField(default=False)
    digest = models.ForeignKey(Digest, null=True, blank=True, on_delete=models.SET_NULL, related_name="notifications")

    class Meta:
        indexes = [models.Index(fields=["user"], condition=Q(waits_for_digest=True), name="notification_waits")]

    def __str__(self):
        return self.key
