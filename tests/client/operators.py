"""Operators: staff with a browser, at the admin."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

__all__ = ["desk"]


@pytest.fixture
def desk(chromium, live_server, transactional_db):
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
