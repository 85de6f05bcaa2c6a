"""
The stage: a person with a subscription, files and objects, and the site pointed at the far sides of this run.

Props are put up at the servers directly, not through the fronts: the call logs hold what jobs did, nothing else.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model

from project.accounts import billing, bucket, userfiles
from project.accounts.models import SubscriptionOpening
from project.farside import FarSides

__all__ = ["StageError", "open_subscription", "point_site_at", "put_up", "staff_user"]


class StageError(Exception):
    """The stage could not be set. The message is the error of the far side."""


def point_site_at(far_sides: FarSides, files: Path) -> None:
    """Make this process and its children call these far sides and keep user files in this folder."""
    files.mkdir(parents=True, exist_ok=True)
    os.environ.update(far_sides.environment(), USER_FILES_ROOT=str(files))
    settings.STRIPE_API_BASE = far_sides.stripe.url
    settings.S3_ENDPOINT_URL = far_sides.s3.url
    settings.USER_FILES_ROOT = files


def put_up(user: Any, far_sides: FarSides, *, files: int, objects: int) -> None:
    """Give the user this many files on disk and objects in the bucket."""
    folder = userfiles.folder_for(user.pk)
    for number in range(files):
        place = folder / f"{number % 10}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"note-{number:04}.txt").write_text(f"Note {number}\n")
    s3 = bucket.client(far_sides.s3.upstream)
    s3.create_bucket(Bucket=settings.S3_BUCKET)
    prefix = bucket.prefix_for(user.pk)
    with ThreadPoolExecutor(4) as pool:
        for number in range(objects):
            pool.submit(s3.put_object, Bucket=settings.S3_BUCKET, Key=f"{prefix}photo-{number:04}.jpg", Body=b"photo")


def open_subscription(user: Any, far_sides: FarSides) -> SubscriptionOpening:
    """Open a subscription for the user, as the site would: with a job. Return it, done."""
    # What an interrupted demo had begun to open: the server that knew of it has forgotten it.
    for stale in SubscriptionOpening.objects.open():
        stale.cancel()
    stripe = billing.client(far_sides.stripe.upstream).v1
    product = stripe.products.create({"name": "Paper"})
    plan = stripe.plans.create({"amount": 900, "currency": "eur", "interval": "month", "product": product.id})
    card = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2050, "cvc": "123"}
    method = stripe.payment_methods.create({"type": "card", "card": card})
    opening = SubscriptionOpening.objects.start(
        key=f"open:{plan.id}", user_id=user.pk, email=user.email, plan=plan.id, payment_method=method.id
    )
    if not opening.run():
        raise StageError(opening.last_error)
    return opening


def staff_user(name: str, password: str) -> Any:
    """Return a person who may use the admin, with this password."""
    user, _ = get_user_model().objects.get_or_create(username=name, defaults={"email": f"{name}@example.org"})
    user.is_staff = user.is_superuser = True
    user.set_password(password)
    user.save()
    return user
