"""
The opening of a subscription: two calls that would charge twice if repeated blindly, so both carry a key.

Stripe stores the answer to a key with the request it was first used with, and refuses another request under the
same key. So the e-mail address is frozen on the row: the person may change theirs between two tries.
"""

from typing import Any

from django.db import models

from durable import step
from durable.models import Job

from . import billing

__all__ = ["SubscriptionOpening"]


class SubscriptionOpening(Job):
    """One person becomes a customer at Stripe with one subscription, known here."""

    user_id = models.PositiveBigIntegerField()
    email = models.EmailField()
    plan = models.CharField(max_length=64)
    payment_method = models.CharField(max_length=64)

    customer = models.CharField(max_length=64, blank=True, editable=False)
    subscription = models.CharField(max_length=64, blank=True, editable=False)

    one_in_flight = ["user_id"]

    @step(external="keyed", timeout=60)
    def create_customer(self) -> dict[str, str]:
        customer = billing.create_customer(self.email, self.payment_method, key=self.key_for("create_customer"))
        return {"customer": customer}

    @step(external="keyed", timeout=60)
    def create_subscription(self) -> dict[str, str]:
        subscription = billing.create_subscription(self.customer, self.plan, key=self.key_for("create_subscription"))
        return {"subscription": subscription}

    @create_subscription.record
    def remember(self, result: dict[str, Any]) -> None:
        from .models import Subscription

        Subscription.objects.create(
            user_id=self.user_id, customer=self.customer, subscription=result["subscription"], plan=self.plan
        )
