"""The operator, in Django's test client and in Chromium."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

from tests.client.conftest import chromium, playwright  # noqa: F401 - one browser for the run


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


@pytest.fixture
def desk(chromium, live_server, transactional_db):  # noqa: F811
    """Return a function: options of a context → a page that is logged in. What the console complains of fails the test."""
    contexts, faults = [], []

    def open_(*, with_axe=False, **options):
        user = get_user_model().objects.filter(username="ada").first()
        user = user or get_user_model().objects.create_superuser("ada", "ada@example.org", "x")
        client = Client()
        client.force_login(user)
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}])
        context.on("weberror", lambda error: faults.append(str(error.error)))
        if not with_axe:  # on a list it tries an inline style itself
            context.on(
                "console", lambda said: "Security Policy" in said.text and faults.append((said.page.url, said.text))
            )
        contexts.append(context)
        page = context.new_page()
        page.base = live_server.url
        return page

    yield open_
    for context in contexts:
        context.close()
    assert faults == [], faults
