"""
Findings: each a sentence and whether it is true, established by asking the database, the disk and the servers.

The servers are asked directly, behind the fronts: nobody's word is taken, least of all the receipts'.
"""

from collections.abc import Iterator

import stripe
from django.contrib.auth import get_user_model

from project.accounts import billing, bucket, userfiles
from project.accounts.models import AccountDeletion, Subscription, SubscriptionOpening
from project.farside import FarSides

from .calls import calls_per_step

__all__ = ["Finding", "after_the_kill", "at_the_end"]

Finding = tuple[str, bool]


def after_the_kill(deletion: AccountDeletion, *, files: int, left: int) -> Iterator[Finding]:
    """What must be true while nobody owns the run any more."""
    recorded = [receipt.step for receipt in deletion.receipts() if receipt.at]
    yield f"{files - left} of {files} files are gone, {left} are still there", 0 < left < files
    yield (
        "the receipts of steps 1 and 2 are there, step 3 has none",
        recorded == ["cancel_subscription", "delete_customer"],
    )
    yield "the account is blocked, and its row is still there", _is_blocked(deletion.user_id)


def at_the_end(
    opening: SubscriptionOpening, deletion: AccountDeletion, far_sides: FarSides, *, left: int, objects: int
) -> Iterator[Finding]:
    """What must be true when `reconcile` has returned."""
    receipts = deletion.receipts()
    calls = {(call.step, call.request): call.received for call in calls_per_step(far_sides, opening, deletion)}
    api = billing.client(far_sides.stripe.upstream).v1
    user_id = deletion.user_id
    prefix = bucket.prefix_for(user_id)

    yield "the run is done, with five receipts", deletion.status == "done" and all(r.at for r in receipts)
    yield "step 3 was started twice, every other step once", [r.starts for r in receipts] == [1, 1, 2, 1, 1]
    yield f"step 3 went on with the {left} files that were left", deletion.files_deleted == left
    yield f"all {objects} objects were deleted", deletion.objects_deleted == objects
    yield "Stripe received one cancellation", calls.get(("cancel_subscription", "DELETE subscription")) == 1
    yield "Stripe received one deletion of the customer", calls.get(("delete_customer", "DELETE customer")) == 1
    yield "Stripe says: the subscription is canceled", _status(api, deletion.subscription) == "canceled"
    yield "Stripe says: no such customer", _is_unknown(api, deletion.customer)
    left_there = bucket.count_objects(deletion.bucket, prefix, address=far_sides.s3.upstream)
    yield "S3 says: no object, no older version", left_there == 0
    yield "the disk says: no file, no folder", not userfiles.folder_for(user_id).exists()
    yield "the database says: no user, no subscription", not _is_known_here(user_id)
    yield "the record outlived the user, and knows who it was", AccountDeletion.objects.filter(user_id=user_id).exists()


def _is_blocked(user_id: int) -> bool:
    return get_user_model().objects.filter(pk=user_id, deletion_pending_at__isnull=False).exists()


def _is_known_here(user_id: int) -> bool:
    users = get_user_model().objects.filter(pk=user_id)
    return users.exists() or Subscription.objects.filter(user_id=user_id).exists()


def _status(api, subscription: str) -> str:
    return api.subscriptions.retrieve(subscription).status


def _is_unknown(api, customer: str) -> bool:
    try:
        return bool(getattr(api.customers.retrieve(customer), "deleted", False))
    except stripe.InvalidRequestError as error:
        return error.http_status == 404
