"""The far sides, once per session; a bucket, a place for files and a subscriber, new for each test."""

import os
import uuid
from urllib.parse import urlsplit

import pytest
from django.db import connection

from project.accounts import billing, bucket, userfiles
from project.farside import running
from tests.factories import SubscriptionFactory, UserFactory


@pytest.fixture(scope="session")
def far_sides(tmp_path_factory):
    with running(tmp_path_factory.mktemp("far-sides")) as sides:
        yield sides


@pytest.fixture
def stripe_front(far_sides, settings):
    """Stripe as the site calls it. What a test leaves unused of its rules is an error in the test."""
    settings.STRIPE_API_BASE = far_sides.stripe.url
    yield far_sides.stripe
    assert far_sides.stripe.unused() == []


@pytest.fixture
def s3_front(far_sides, settings):
    settings.S3_ENDPOINT_URL = far_sides.s3.url
    yield far_sides.s3
    assert far_sides.s3.unused() == []


@pytest.fixture
def stripe_itself(far_sides, settings):
    """The official SDK, talking to the server behind the front."""
    return billing.client(far_sides.stripe.upstream).v1


@pytest.fixture
def s3_itself(far_sides, settings):
    return bucket.client(far_sides.s3.upstream)


@pytest.fixture
def bucket_name(s3_front, s3_itself, settings):
    settings.S3_BUCKET = f"users-{uuid.uuid4().hex[:12]}"
    s3_itself.create_bucket(Bucket=settings.S3_BUCKET)
    return settings.S3_BUCKET


@pytest.fixture
def files_root(tmp_path, settings):
    settings.USER_FILES_ROOT = tmp_path / "user-files"
    settings.USER_FILES_ROOT.mkdir()
    return settings.USER_FILES_ROOT


@pytest.fixture
def plan(stripe_itself):
    product = stripe_itself.products.create({"name": "Paper"})
    return stripe_itself.plans.create({"amount": 900, "currency": "eur", "interval": "month", "product": product.id}).id


@pytest.fixture
def payment_method(stripe_itself):
    card = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2050, "cvc": "123"}
    return stripe_itself.payment_methods.create({"type": "card", "card": card}).id


@pytest.fixture
def paid(stripe_itself, plan, payment_method):
    """A customer with an active subscription at Stripe: (customer, subscription)."""
    customer = stripe_itself.customers.create(
        {
            "email": "ada@example.org",
            "payment_method": payment_method,
            "invoice_settings": {"default_payment_method": payment_method},
        }
    )
    subscription = stripe_itself.subscriptions.create({"customer": customer.id, "items": [{"plan": plan}]})
    assert subscription.status == "active"
    return customer.id, subscription.id


@pytest.fixture
def subscriber(db, paid, bucket_name, s3_itself, files_root, stripe_front):
    """A person who has everything there is to lose: a subscription, three files, five objects."""
    user = UserFactory()
    SubscriptionFactory(user=user, customer=paid[0], subscription=paid[1])
    folder = userfiles.folder_for(user.pk)
    folder.mkdir()
    for number in range(3):
        (folder / f"note-{number}").write_text("note")
    for number in range(5):
        s3_itself.put_object(Bucket=bucket_name, Key=f"{bucket.prefix_for(user.pk)}photo-{number}", Body=b"photo")
    return user


@pytest.fixture
def site_environment(transactional_db):
    """The environment in which a child process of the site works on this test's database."""
    name, url = connection.settings_dict["NAME"], os.environ["DATABASE_URL"]
    of_test = f"sqlite:///{name}" if connection.vendor == "sqlite" else urlsplit(url)._replace(path=f"/{name}").geturl()
    environment = {**os.environ, "DATABASE_URL": of_test, "DJANGO_SETTINGS_MODULE": "project.settings", "DEBUG": "true"}
    return {**environment, "PYTHONUNBUFFERED": "1", "COLUMNS": "100"}
