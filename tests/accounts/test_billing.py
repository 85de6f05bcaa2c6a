"""What the accounts ask of Stripe: already done is success, refused is not. The official SDK, a real server."""

import pytest
import stripe

from project.accounts import billing


def test_a_subscription_is_canceled_and_canceling_it_again_is_no_error(stripe_front, stripe_itself, paid):
    billing.cancel_subscription(paid[1], key="k")
    billing.cancel_subscription(paid[1], key="k")

    assert stripe_itself.subscriptions.retrieve(paid[1]).status == "canceled"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, {"type": "invalid_request_error", "code": "resource_missing", "message": "No such subscription"}),
        (
            400,
            {
                "type": "invalid_request_error",
                "message": "A canceled subscription can only update its cancellation_details and metadata.",
            },
        ),
    ],
)
def test_a_refusal_is_success_when_stripe_says_the_subscription_is_canceled(
    stripe_front, stripe_itself, paid, status, error
):
    stripe_itself.subscriptions.cancel(paid[1])
    stripe_front.refuse_next_as_stripe("DELETE", "/v1/subscriptions/", status=status, **error)

    billing.cancel_subscription(paid[1], key="k")

    assert [(call.method, call.status) for call in stripe_front.calls()[-2:]] == [("DELETE", status), ("GET", 200)]


def test_a_refusal_is_an_error_when_stripe_says_the_subscription_is_active(stripe_front, stripe_itself, paid):
    stripe_front.refuse_next_as_stripe(
        "DELETE", "/v1/subscriptions/", status=404, type="invalid_request_error", message="No such subscription"
    )

    with pytest.raises(stripe.InvalidRequestError, match="No such subscription"):
        billing.cancel_subscription(paid[1], key="k")

    assert stripe_itself.subscriptions.retrieve(paid[1]).status == "active"


def test_a_subscription_that_stripe_does_not_know_is_gone(stripe_front):
    billing.cancel_subscription("sub_00000000000000", key="k")


def test_a_live_object_asked_for_with_a_test_key_is_not_gone(stripe_front):
    said = "No such subscription: 'sub_1'; a similar object exists in live mode, but a test mode key was used."
    for method in ("DELETE", "GET"):
        stripe_front.refuse_next_as_stripe(
            method, "/v1/subscriptions/", status=404, type="invalid_request_error", message=said
        )

    with pytest.raises(stripe.InvalidRequestError, match="similar object exists"):
        billing.cancel_subscription("sub_1", key="k")


@pytest.mark.parametrize(
    "call", [lambda: billing.cancel_subscription("sub_1", key="k"), lambda: billing.delete_customer("cus_1")]
)
def test_a_wrong_api_key_is_an_error_not_already_gone(stripe_front, settings, call):
    settings.STRIPE_API_KEY = "wrong"

    with pytest.raises(stripe.AuthenticationError):
        call()


def test_a_customer_is_deleted_and_deleting_it_again_is_no_error(stripe_front, stripe_itself, paid):
    billing.delete_customer(paid[0])
    billing.delete_customer(paid[0])

    with pytest.raises(stripe.InvalidRequestError) as caught:
        stripe_itself.customers.retrieve(paid[0])
    assert caught.value.http_status == 404


def test_a_customer_that_may_not_be_deleted_is_an_error(stripe_front, paid):
    stripe_front.refuse_next_as_stripe(
        "DELETE", "/v1/customers/", status=400, type="invalid_request_error", message="Customer has an open dispute"
    )

    with pytest.raises(stripe.InvalidRequestError, match="open dispute"):
        billing.delete_customer(paid[0])


def test_no_call_is_repeated_in_here_the_runner_does_that(stripe_front, paid):
    before = len(stripe_front.calls())
    stripe_front.refuse_next_as_stripe("DELETE", "/v1/customers/", status=503, type="api_error", message="down")

    with pytest.raises(stripe.APIError):
        billing.delete_customer(paid[0])

    assert len(stripe_front.calls()) == before + 1
