"""
Billing: what we say of every subscription is what Stripe says. One pass over all of them; Stripe is right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models.functions import Now

from durable import NotConfigured, RetryAfter, passes

from . import billing
from .models import Subscription

if TYPE_CHECKING:
    import stripe

__all__ = ["BillingSync"]


@passes.register("billing", at_boot=settings.BILLING_AT_BOOT, budget=300)
class BillingSync(passes.SyncPass):
    """Active, past due, cancelled or missing: each row says it, and when it was last looked up."""

    def rows(self):
        return Subscription.objects.exclude(subscription="")

    def sync(self, row):
        import stripe

        try:
            status = billing.status_of(row.subscription)
        except stripe.RateLimitError as error:
            message = "Stripe answered 429"
            raise RetryAfter(_seconds(error), message) from error
        except (stripe.AuthenticationError, stripe.PermissionError) as error:
            message = f"Stripe does not take STRIPE_API_KEY: {type(error).__name__}"
            raise NotConfigured(message) from error
        # Only what still names this subscription: somebody may have opened another one meanwhile.
        same = Subscription.objects.filter(pk=row.pk, subscription=row.subscription)
        same.update(synced_at=Now())
        return same.exclude(status=status).update(status=status) > 0


def _seconds(error: stripe.RateLimitError) -> float:
    text = (error.headers or {}).get("Retry-After", "")
    return min(float(text), 3600.0) if str(text).isdecimal() else 30.0
