"""The opening of a subscription: a keyed call whose answer is lost creates one object, whatever changes meanwhile."""

import pytest

from project.accounts.models import Subscription, SubscriptionOpening
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def opening(plan, payment_method, stripe_front):
    user = UserFactory()
    return SubscriptionOpening.objects.start(
        key=f"open:{plan}", user_id=user.pk, email=user.email, plan=plan, payment_method=payment_method
    )


def _posts(front, path, since):
    return [call for call in front.calls()[since:] if (call.method, call.path) == ("POST", path)]


def test_a_person_becomes_a_customer_with_one_subscription_that_we_know(opening, stripe_itself):
    assert opening.run() is True

    known = Subscription.objects.get(user_id=opening.user_id)
    assert (known.customer, known.subscription) == (opening.customer, opening.subscription)
    assert stripe_itself.subscriptions.retrieve(known.subscription).status == "active"
    assert [receipt.guarantee for receipt in opening.receipts()] == ["keyed", "keyed"]


# C39 -----------------------------------------------------------------------------------------------------------------


def test_a_retry_sends_the_same_key_and_bytes_although_the_address_changed(opening, stripe_front, stripe_itself):
    since = len(stripe_front.calls())
    stripe_front.lose_next_answer("POST", "/v1/customers")

    assert opening.run() is False
    UserFactory._meta.model.objects.filter(pk=opening.user_id).update(email="new@example.org")
    assert opening.run() is True

    first, second = _posts(stripe_front, "/v1/customers", since)
    assert (first.fate, second.fate) == ("lost", "replayed")
    assert first.key == second.key != ""
    assert first.content() == second.content()
    assert [receipt.starts for receipt in opening.receipts()] == [2, 1]
    assert [customer.id for customer in stripe_itself.customers.list({"email": opening.email})] == [opening.customer]


def test_a_retry_of_the_subscription_does_not_charge_twice(opening, stripe_front, stripe_itself):
    since = len(stripe_front.calls())
    stripe_front.lose_next_answer("POST", "/v1/subscriptions")

    assert opening.run() is False
    assert opening.run() is True

    first, second = _posts(stripe_front, "/v1/subscriptions", since)
    assert (first.key, first.content()) == (second.key, second.content())
    assert len(stripe_itself.subscriptions.list({"customer": opening.customer}).data) == 1
    assert Subscription.objects.filter(user_id=opening.user_id).count() == 1
