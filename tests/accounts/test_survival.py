"""The deletion of an account, killed at every boundary in turn, with real servers on the far sides."""

import pytest
from django.contrib.auth import get_user_model

from durable.testing import assert_survives
from project.accounts import bucket, userfiles
from tests.factories import AccountDeletionFactory, SubscriptionFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def new_deletion(plan, stripe_itself, stripe_front, s3_itself, bucket_name, files_root):
    """Start the deletion of a new person who has a subscription, a file and an object."""

    def start():
        user = UserFactory()
        customer = stripe_itself.customers.create({"email": user.email}).id
        trial = {"customer": customer, "items": [{"plan": plan}], "trial_period_days": 30}
        subscription = stripe_itself.subscriptions.create(trial).id
        SubscriptionFactory(user=user, customer=customer, subscription=subscription)
        folder = userfiles.folder_for(user.pk)
        folder.mkdir()
        (folder / "note").write_text("note")
        s3_itself.put_object(Bucket=bucket_name, Key=f"{bucket.prefix_for(user.pk)}photo", Body=b"photo")
        return AccountDeletionFactory(user=user)

    return start


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
def test_an_account_deletion_survives_a_kill_at_a_boundary(new_deletion, stripe_front, stripe_itself, every):
    def check(deletion):
        assert stripe_itself.subscriptions.retrieve(deletion.subscription).status == "canceled"
        assert bucket.count_objects(deletion.bucket, bucket.prefix_for(deletion.user_id)) == 0
        assert not userfiles.folder_for(deletion.user_id).exists()
        assert not get_user_model().objects.filter(pk=deletion.user_id).exists()
        for address in (f"/v1/subscriptions/{deletion.subscription}", f"/v1/customers/{deletion.customer}"):
            received = [call for call in stripe_front.calls() if (call.method, call.path) == ("DELETE", address)]
            assert 1 <= len(received) <= 2

    survived = assert_survives(new_deletion, check=check, every=every)

    print(f"killed at {survived.points} boundaries")
    assert survived.points * every > 36
