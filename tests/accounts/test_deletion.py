"""The deletion of an account, as a job: five steps on real parts, whatever they meet on the way."""

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.urls import reverse

from project.accounts import bucket, userfiles
from project.accounts.models import AccountDeletion, Subscription
from tests.factories import AccountDeletionFactory, LegalHoldFactory, SubscriptionFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = ["cancel_subscription", "delete_customer", "delete_files", "delete_objects", "delete_user"]


def _recorded(deletion):
    return [receipt.step for receipt in deletion.receipts() if receipt.at]


def _exists(user_id):
    return get_user_model().objects.filter(pk=user_id).exists()


def test_all_five_steps_are_done_recorded_and_true_at_the_far_sides(subscriber, stripe_itself, s3_itself):
    deletion = AccountDeletionFactory(user=subscriber)

    assert deletion.run() is True

    assert _recorded(deletion) == STEPS
    assert [receipt.guarantee for receipt in deletion.receipts()] == [*["idempotent"] * 4, "exactly once"]
    assert (deletion.status, deletion.files_deleted, deletion.objects_deleted) == ("done", 3, 5)
    assert stripe_itself.subscriptions.retrieve(deletion.subscription).status == "canceled"
    assert deletion.customer not in [customer.id for customer in stripe_itself.customers.list()]
    assert bucket.count_objects(deletion.bucket, bucket.prefix_for(subscriber.pk)) == 0
    assert not userfiles.folder_for(subscriber.pk).exists()
    assert not _exists(subscriber.pk)
    assert not Subscription.objects.filter(user_id=subscriber.pk).exists()


def test_what_is_gone_before_it_begins_is_success(subscriber, stripe_itself, stripe_front):
    """Somebody cancelled in Stripe's dashboard, emptied the folder and the bucket."""
    deletion = AccountDeletionFactory(user=subscriber)
    stripe_itself.subscriptions.cancel(deletion.subscription)
    stripe_itself.customers.delete(deletion.customer)
    userfiles.delete_all(subscriber.pk)
    bucket.delete_objects(deletion.bucket, bucket.prefix_for(subscriber.pk))

    assert deletion.run() is True

    assert (deletion.files_deleted, deletion.objects_deleted) == (0, 0)


def test_who_never_paid_is_deleted_without_a_call_to_stripe(stripe_front, bucket_name, files_root):
    before = len(stripe_front.calls())
    deletion = AccountDeletionFactory()

    assert deletion.run() is True

    assert len(stripe_front.calls()) == before


def test_the_account_is_blocked_in_the_transaction_that_starts_the_deletion(stripe_front, bucket_name):
    user = UserFactory()

    with transaction.atomic():
        AccountDeletion.start_for(user)
        user.refresh_from_db()
        assert user.deletion_pending_at is not None
        transaction.set_rollback(True)

    user.refresh_from_db()
    assert user.deletion_pending_at is None
    assert not AccountDeletion.objects.exists()


def test_asked_twice_it_is_the_same_run_even_if_the_subscription_changed_in_between(bucket_name):
    user = UserFactory()
    first = AccountDeletion.start_for(user)
    SubscriptionFactory(user=user)

    second = AccountDeletion.start_for(get_user_model().objects.get(pk=user.pk))

    assert second.pk == first.pk
    assert second.subscription == ""


def test_a_canceled_deletion_frees_the_account_and_may_be_asked_for_again(bucket_name):
    user = UserFactory()
    first = AccountDeletion.start_for(user)
    first.cancel()

    user.refresh_from_db()
    assert user.deletion_pending_at is None
    assert AccountDeletion.start_for(user).pk != first.pk


def test_what_a_request_needs_is_frozen_when_the_deletion_starts(subscriber, settings):
    deletion = AccountDeletionFactory(user=subscriber)
    started_with = deletion.bucket
    Subscription.objects.update(customer="cus_other", subscription="sub_other")
    settings.S3_BUCKET = "another-bucket"

    assert deletion.run() is True

    assert deletion.bucket == started_with
    assert deletion.objects_deleted == 5


# C37 -----------------------------------------------------------------------------------------------------------------


def test_already_cancelled_at_stripe_is_recorded_and_the_next_step_runs_in_the_same_pass(
    subscriber, stripe_front, stripe_itself
):
    deletion = AccountDeletionFactory(user=subscriber)
    stripe_itself.subscriptions.cancel(deletion.subscription)
    stripe_front.refuse_next_as_stripe(
        "DELETE", "/v1/subscriptions/", status=404, type="invalid_request_error", code="resource_missing", message="No."
    )

    assert deletion.run() is True

    assert deletion.last_error == ""
    assert _recorded(deletion) == STEPS


def test_refused_by_stripe_while_active_is_not_recorded_and_the_error_is_kept(subscriber, stripe_front):
    deletion = AccountDeletionFactory(user=subscriber)
    stripe_front.refuse_next_as_stripe(
        "DELETE", "/v1/subscriptions/", status=404, type="invalid_request_error", message="No such subscription"
    )

    assert deletion.run() is False

    assert _recorded(deletion) == []
    assert "No such subscription" in deletion.last_error
    assert _exists(subscriber.pk)


# C40 -----------------------------------------------------------------------------------------------------------------


def _by_queryset(user_id):
    get_user_model().objects.filter(pk=user_id).delete()


def _by_instance(user_id):
    get_user_model().objects.get(pk=user_id).delete()


def _by_nobody(user_id):
    """The last step does it."""


@pytest.mark.parametrize("delete", [_by_nobody, _by_queryset, _by_instance])
def test_the_record_outlives_the_user_however_the_row_goes(subscriber, delete, admin_client):
    deletion = AccountDeletionFactory(user=subscriber)
    delete(subscriber.pk)

    assert deletion.run() is True

    kept = AccountDeletion.objects.get(pk=deletion.pk)
    assert _recorded(kept) == STEPS
    assert kept.user_id == subscriber.pk
    assert not _exists(subscriber.pk)
    for page in (
        reverse("admin:accounts_accountdeletion_changelist"),
        reverse("admin:accounts_accountdeletion_change", args=[kept.pk]),
    ):
        assert admin_client.get(page).status_code == 200


def test_a_row_that_is_protected_keeps_the_last_step_open_and_the_others_are_not_repeated(
    subscriber, stripe_front, s3_front
):
    deletion = AccountDeletionFactory(user=subscriber)
    hold = LegalHoldFactory(user=subscriber)

    assert deletion.run() is False

    assert _recorded(deletion) == STEPS[:4]
    assert "ProtectedError" in deletion.last_error
    calls = len(stripe_front.calls()), len(s3_front.calls())
    hold.delete()
    assert deletion.run() is True
    assert calls == (len(stripe_front.calls()), len(s3_front.calls()))
    assert [receipt.starts for receipt in deletion.receipts()] == [1, 1, 1, 1, 2]


def test_a_failing_step_keeps_its_error_and_the_steps_before_it(subscriber, s3_front):
    deletion = AccountDeletionFactory(user=subscriber)
    s3_front.refuse_next(
        "GET",
        f"/{deletion.bucket}",
        status=403,
        body=b"<Error><Code>AccessDenied</Code></Error>",
        content_type="text/xml",
    )

    assert deletion.run() is False

    assert _recorded(deletion) == STEPS[:3]
    assert "AccessDenied" in deletion.last_error
    assert deletion.run() is True


def test_an_answer_lost_after_stripe_acted_is_repeated_once_and_all_is_well(subscriber, stripe_front, stripe_itself):
    deletion = AccountDeletionFactory(user=subscriber)
    stripe_front.lose_next_answer("DELETE", "/v1/customers/")

    assert deletion.run() is False
    assert deletion.run() is True

    deletes = [
        call.status
        for call in stripe_front.calls()
        if call.path == f"/v1/customers/{deletion.customer}" and call.method == "DELETE"
    ]
    assert deletes == [200, 404]


def test_a_settled_deletion_answers_from_its_receipts(subscriber, stripe_front, s3_front):
    deletion = AccountDeletionFactory(user=subscriber)
    deletion.run()
    before = len(stripe_front.calls()), len(s3_front.calls())

    assert deletion.run() is True

    assert before == (len(stripe_front.calls()), len(s3_front.calls()))
