"""Billing: every subscription says what Stripe says, with the real SDK against localstripe."""

import pytest

from durable import passes
from durable.models import Pass
from project.accounts.models import Subscription
from tests.factories import SubscriptionFactory

pytestmark = pytest.mark.django_db(transaction=True)


def sync():
    passes.request("billing").run()
    return Pass.objects.get(key="billing")


def test_active_canceled_and_missing_ones_are_told_apart(stripe_front, stripe_itself, paid, plan, payment_method):
    active = SubscriptionFactory(customer=paid[0], subscription=paid[1])
    gone = SubscriptionFactory()
    ended = stripe_itself.subscriptions.create({"customer": paid[0], "items": [{"plan": plan}]})
    stripe_itself.subscriptions.cancel(ended.id)
    canceled = SubscriptionFactory(customer=paid[0], subscription=ended.id)
    never = SubscriptionFactory(subscription="")

    row = sync()

    found = dict(Subscription.objects.values_list("pk", "status"))
    assert found == {active.pk: "active", gone.pk: "missing", canceled.pk: "canceled", never.pk: ""}
    assert (row.status, row.summary["synced"], row.summary["changed"], row.summary["failed"]) == ("done", 3, 3, 0)
    assert sync().summary["changed"] == 0


def test_one_that_stripe_does_not_answer_for_stops_none_of_the_others(stripe_front, paid):
    rows = [SubscriptionFactory(customer=paid[0], subscription=paid[1]) for _ in range(3)]
    stripe_front.refuse_next_as_stripe("GET", "/v1/subscriptions/", status=500, type="api_error", message="down")

    row = sync()

    assert [one.status for one in Subscription.objects.order_by("pk")] == ["", "active", "active"]
    assert (row.status, row.summary["failed"]) == ("failed", 1)
    assert row.summary["errors"][0]["row"] == str(rows[0].pk)


def test_a_key_that_stripe_does_not_take_stops_the_pass_and_marks_nothing_missing(stripe_front, settings, paid):
    SubscriptionFactory(customer=paid[0], subscription=paid[1])
    settings.STRIPE_API_KEY = "wrong"

    row = sync()

    assert row.status == "waiting"
    assert "STRIPE_API_KEY" in row.last_error
    assert Subscription.objects.get().status == ""


def test_a_rate_limit_stops_the_pass_for_as_long_as_stripe_asks(stripe_front, paid):
    SubscriptionFactory(customer=paid[0], subscription=paid[1])
    stripe_front.refuse_next_as_stripe(
        "GET", "/v1/subscriptions/", status=429, type="invalid_request_error", code="rate_limit", message="slow down"
    )

    row = sync()

    assert (row.status, row.last_error) == ("waiting", "Stripe answered 429")
    assert (row.due_at - row.updated_at).total_seconds() > 25


@pytest.mark.parametrize("number", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_so_many_rows_are_synced_in_one_pass(stripe_front, stripe_itself, paid, number):
    SubscriptionFactory.create_batch(number // 2, customer=paid[0], subscription=paid[1])
    SubscriptionFactory.create_batch(number - number // 2)

    row = sync()

    print(f"{number} rows in {row.summary['took']:.1f} s")
    assert (row.summary["synced"], row.summary["changed"]) == (number, number)
    counts = {status: Subscription.objects.filter(status=status).count() for status in ("active", "missing")}
    assert counts == {"active": number // 2, "missing": number - number // 2}
