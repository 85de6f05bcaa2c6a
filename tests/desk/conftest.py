"""The operator, in Django's test client."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

from durable import pauses


@pytest.fixture(autouse=True)
def pauses_are_read_anew():
    """A process believes for a second what it read of pauses; a test must not find the last one's."""
    pauses.forget()
    yield
    pauses.forget()


@pytest.fixture
def operator(db):
    return get_user_model().objects.create_superuser("ada", "ada@example.org", "x")


@pytest.fixture
def staff(client, operator):
    client.force_login(operator)
    return client


@pytest.fixture
def somebody(db):
    """Return a client of a person with nothing but those permissions: `app.codename` each."""

    def make(*permissions):
        user = get_user_model().objects.create_user(f"user{get_user_model().objects.count()}", is_staff=True)
        for name in permissions:
            app, codename = name.split(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
        client = Client()
        client.force_login(user)
        return client

    return make
