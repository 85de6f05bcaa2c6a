"""
What the accounts ask of Stripe. Every function may be repeated; "already done" is success, "may not" is an error.

No call is retried in here: whoever runs the step retries it, with the same key, and the receipt says how often.

The SDK is loaded by the first call: it takes a fifth of the time in which manage.py starts, and most commands call nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    import stripe

__all__ = [
    "MISSING",
    "cancel_subscription",
    "client",
    "create_customer",
    "create_subscription",
    "delete_customer",
    "status_of",
]

SECONDS_PER_CALL = 20
ENDED = {"canceled", "incomplete_expired"}
MISSING = "missing"


def client(address: str | None = None) -> stripe.StripeClient:
    """Return a client for the configured account, at the configured address unless told another."""
    import stripe

    address = address or settings.STRIPE_API_BASE
    addresses = {"api": address} if address else {}
    return stripe.StripeClient(
        settings.STRIPE_API_KEY,
        base_addresses=addresses,
        http_client=stripe.RequestsClient(timeout=SECONDS_PER_CALL),
        max_network_retries=0,
    )


def create_customer(email: str, payment_method: str, *, key: str) -> str:
    """Create the customer this key stands for; return its id."""
    params = {
        "email": email,
        "payment_method": payment_method,
        "invoice_settings": {"default_payment_method": payment_method},
    }
    return client().v1.customers.create(params, {"idempotency_key": key}).id


def create_subscription(customer: str, plan: str, *, key: str) -> str:
    """Create the subscription this key stands for; return its id."""
    params = {"customer": customer, "items": [{"plan": plan}]}
    return client().v1.subscriptions.create(params, {"idempotency_key": key}).id


def cancel_subscription(subscription: str, *, key: str) -> None:
    """
    End the subscription now, if it has not ended yet.

    Cancelling is a DELETE in Stripe's API v1, on which an idempotency key has no effect: the second one is answered
    404 although all is well. So an error is believed only after a look at the subscription. The key is sent all the
    same: it marks the request in Stripe's own log.
    """
    import stripe

    subscriptions = client().v1.subscriptions
    try:
        subscriptions.cancel(subscription, options={"idempotency_key": key})
    except stripe.InvalidRequestError as error:
        if not _is_gone(error, lambda: subscriptions.retrieve(subscription).status in ENDED):
            raise


def status_of(subscription: str) -> str:
    """Return what Stripe says of the subscription: one of its statuses, or `MISSING` where Stripe does not know it."""
    import stripe

    try:
        return client().v1.subscriptions.retrieve(subscription).status
    except stripe.InvalidRequestError as error:
        # A test key asking for a live object gets 404 as well. That one is not missing, we are in the wrong place.
        if error.http_status == 404 and "similar object exists" not in str(error):
            return MISSING
        raise


def delete_customer(customer: str) -> None:
    """Delete the customer with all payment methods, if that has not happened yet."""
    import stripe

    customers = client().v1.customers
    try:
        customers.delete(customer)
    except stripe.InvalidRequestError as error:
        # Stripe answers for a deleted customer with a stub that says so.
        if not _is_gone(error, lambda: bool(getattr(customers.retrieve(customer), "deleted", False))):
            raise


def _is_gone(error: stripe.InvalidRequestError, has_ended: Callable[[], bool]) -> bool:
    """Tell whether the refusal means "already done": the object is unknown, or it has ended."""
    import stripe

    if error.http_status not in {400, 404}:
        return False
    try:
        return has_ended()
    except stripe.InvalidRequestError as second:
        # A test key asking for a live object gets 404 as well. That one is not gone, we are in the wrong place.
        return second.http_status == 404 and "similar object exists" not in str(second)
