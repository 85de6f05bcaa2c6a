"""Accounts of the example site, and what hangs on them."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from .deletion import AccountDeletion
from .opening import SubscriptionOpening

__all__ = ["AccountDeletion", "LegalHold", "Subscription", "SubscriptionOpening", "User"]


class User(AbstractUser):
    """A person. `deletion_pending_at` blocks the account from the moment its deletion is asked for."""

    deletion_pending_at = models.DateTimeField(null=True, blank=True, editable=False)


class Subscription(models.Model):
    """What a person pays for, as Stripe knows it."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="subscription")
    customer = models.CharField(max_length=64)
    subscription = models.CharField(max_length=64, blank=True)
    plan = models.CharField(max_length=64)
    # What Stripe says, as of the last billing pass; "missing" where Stripe does not know it.
    status = models.CharField(max_length=32, blank=True, default="", editable=False)
    synced_at = models.DateTimeField(null=True, blank=True, editable=False)

    def __str__(self) -> str:
        return self.subscription or self.customer


class LegalHold(models.Model):
    """A reason why an account must stay for now: the database itself refuses to delete its row."""

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="legal_holds")
    reason = models.CharField(max_length=200)
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("legal hold")

    def __str__(self) -> str:
        return self.reason
