"""Chromium against a live server: one browser for the run, a profile of its own for each person."""

import json
import os

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

import documents

from .chromium import ARGUMENTS, executable


@pytest.fixture(scope="session")
def playwright():
    from playwright.sync_api import sync_playwright

    # Playwright runs a loop in this thread, and Django refuses to be asked for rows inside one.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as started:
        yield started
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def chromium(playwright):
    browser = playwright.chromium.launch(executable_path=executable(), args=ARGUMENTS)
    yield browser
    browser.close()


class Desk:
    """A person's browser at the desk."""

    def __init__(self, context, address, user):
        self.context, self.address, self.user = context, address, user
        self.log_in(user)

    def log_in(self, user):
        """Put a fresh login's cookies into this browser, as a login in another tab would."""
        client = Client()
        client.force_login(user)
        client.get("/documents/csrf/")
        self.context.add_cookies(
            [
                {"name": name, "value": client.cookies[name].value, "url": self.address}
                for name in ("sessionid", "csrftoken")
            ]
        )

    def open(self, kind, key, page=None):
        """Open a document and wait until it is there."""
        page = page or self.context.new_page()
        page.goto(f"{self.address}/desk/{kind}/{key}/")
        wait(page, "clean")
        return page


def wait(page, *words, timeout=15_000):
    """Wait until the session says one of these states; return it."""
    asked = "words => words.includes(document.querySelector('document-session')?.session?.state.status)"
    page.wait_for_function(asked, arg=list(words), timeout=timeout)
    return page.evaluate("document.querySelector('document-session').session.state.status")


def state(page):
    return page.evaluate(
        """() => {
            const { state, content } = document.querySelector('document-session').session;
            return JSON.parse(JSON.stringify({ ...state, content }));
        }"""
    )


@pytest.fixture
def person(chromium, live_server, transactional_db):
    """Return a function: name → Desk. Problems on a page's console fail the test."""
    contexts, faults = [], []

    def make(name, **options):
        user = get_user_model().objects.filter(username=name).first()
        user = user or get_user_model().objects.create_user(name, email=f"{name}@example.org")
        context = chromium.new_context(**options)
        context.on("weberror", lambda error: faults.append(str(error.error)))
        context.on("console", lambda said: "Content Security Policy" in said.text and faults.append(said.text))
        contexts.append(context)
        return Desk(context, live_server.url, user)

    yield make
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def stored():
    """Return a function that reads the head of a document as Python sees it."""

    def read(kind, key):
        head = documents.read(kind, key)
        return head.version, json.loads(head.text)

    return read


@pytest.fixture
def sheet(transactional_db):
    def make(key="budget", **cells):
        return documents.save("sheet", key, {"cells": cells}, expected_version=0, actor_name="the test")

    return make


assert settings.USE_TZ
