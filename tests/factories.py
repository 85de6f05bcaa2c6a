"""Rows for tests."""

import factory
from django.contrib.auth import get_user_model

from project.accounts.models import AccountDeletion, LegalHold, Subscription

__all__ = ["PASSWORD", "AccountDeletionFactory", "LegalHoldFactory", "SubscriptionFactory", "UserFactory"]

PASSWORD = "correct horse"


class UserFactory(factory.django.DjangoModelFactory):
    """A person who can sign in with PASSWORD."""

    class Meta:
        model = get_user_model()
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"ada-{n}")
    email = factory.LazyAttribute(lambda user: f"{user.username}@example.org")
    password = factory.django.Password(PASSWORD)


class SubscriptionFactory(factory.django.DjangoModelFactory):
    """A subscription that Stripe has never heard of; see the fixture `subscriber` for one it has."""

    class Meta:
        model = Subscription

    user = factory.SubFactory(UserFactory)
    customer = factory.Sequence(lambda n: f"cus_{n:014}")
    subscription = factory.Sequence(lambda n: f"sub_{n:014}")
    plan = "plan_paper"


class LegalHoldFactory(factory.django.DjangoModelFactory):
    """A reason why the user's row cannot be deleted."""

    class Meta:
        model = LegalHold

    user = factory.SubFactory(UserFactory)
    reason = "an open case"


class AccountDeletionFactory(factory.django.DjangoModelFactory):
    """A deletion of somebody who has nothing at Stripe."""

    class Meta:
        model = AccountDeletion

    @classmethod
    def _create(cls, model_class, *args, user=None, **kwargs):
        return model_class.start_for(user or UserFactory(), **kwargs)
