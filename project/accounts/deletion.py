"""
The deletion of an account: five steps, each with a receipt that outlives the user.

Everything a request needs is frozen on the row when the deletion starts, so the tenth try sends what the first sent.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models
from django.db.models.functions import Now

from durable import step
from durable.models import Job

from . import billing, bucket, userfiles

__all__ = ["AccountDeletion"]


class AccountDeletion(Job):
    """One person's account leaves Stripe, the disk, the bucket and, last, our own table."""

    # A plain number, no foreign key: the record of a deletion must not go with what it deleted.
    user_id = models.PositiveBigIntegerField()
    subscription = models.CharField(max_length=64, blank=True)
    customer = models.CharField(max_length=64, blank=True)
    bucket = models.CharField(max_length=63)
    initiated_by = models.CharField(max_length=32, default="user")

    # Counted by the try that finished the step; what an interrupted one had deleted before is not in here.
    files_deleted = models.PositiveIntegerField(null=True, editable=False)
    objects_deleted = models.PositiveIntegerField(null=True, editable=False)

    @classmethod
    def start_for(cls, user: Any, *, initiated_by: str = "user") -> "AccountDeletion":
        """Start the deletion in the caller's transaction; asked again, return the same one."""
        # A canceled deletion keeps its key for ever; who asks again later gets the next one.
        canceled = cls.objects.filter(user_id=user.pk, status="canceled").count()
        key = f"delete:{user.pk}:{canceled}" if canceled else f"delete:{user.pk}"
        if started := cls.objects.filter(key=key).first():
            return started
        paid = getattr(user, "subscription", None)
        return cls.objects.start(
            key=key,
            user_id=user.pk,
            subscription=paid.subscription if paid else "",
            customer=paid.customer if paid else "",
            bucket=settings.S3_BUCKET,
            initiated_by=initiated_by,
        )

    def on_start(self) -> None:
        get_user_model().objects.filter(pk=self.user_id).update(deletion_pending_at=Now())

    def on_cancel(self) -> None:
        get_user_model().objects.filter(pk=self.user_id).update(deletion_pending_at=None)

    # Stripe's v1 DELETE takes no idempotency key; what makes a repeat harmless is that a second cancel changes nothing.
    @step(external="idempotent", timeout=60)
    def cancel_subscription(self) -> None:
        if self.subscription:
            billing.cancel_subscription(self.subscription, key=self.key_for("cancel_subscription"))

    @step(external="idempotent", timeout=60)
    def delete_customer(self) -> None:
        if self.customer:
            billing.delete_customer(self.customer)

    @step(external="idempotent")
    def delete_files(self) -> dict[str, int]:
        return {"files_deleted": userfiles.delete_all(self.user_id, pause=settings.USER_FILES_PAUSE)}

    @step(external="idempotent")
    def delete_objects(self) -> dict[str, int]:
        return {"objects_deleted": bucket.delete_objects(self.bucket, bucket.prefix_for(self.user_id))}

    @step
    def delete_user(self) -> None:
        get_user_model().objects.filter(pk=self.user_id).delete()
