"""Closing a tab with more than a browser sends from a closing page (64 KiB), in a real Chromium against the real views."""

import time
from contextlib import contextmanager

import pytest
from django.core.signals import request_started

import documents
from documents.models import Conflict

from .conftest import wait

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "long " * 15_000


@pytest.fixture
def record(transactional_db):
    content = {
        "title": "Ada",
        "attributes": [
            {"id": "a0", "label": "Life", "value": LONG},
            {"id": "http://a/~1", "label": "Phone", "value": "1"},
        ],
    }
    documents.save("record", "ada", content, expected_version=0, actor_name="the test")
    return content


@contextmanager
def asked():
    """Collect how the server is asked to write."""
    methods = []

    def note(environ, **_):
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            methods.append(environ["REQUEST_METHOD"])

    request_started.connect(note)
    try:
        yield methods
    finally:
        request_started.disconnect(note)


def stand_still(page):
    """Stop this page's timers, so that a slow machine does not save before the tab is closed."""
    page.evaluate("window.later = setTimeout; window.setTimeout = () => 0")


def until(fact):
    for _ in range(100):
        if found := fact():
            return found
        time.sleep(0.05)
    return fact()


def phone(content, value):
    first, second = content["attributes"]
    return content | {"attributes": [first, second | {"value": value}]}


def field(page, name, at):
    return page.locator(f"#attributes li:nth-child({at}) .{name}")


def test_one_field_of_a_large_record_is_saved_though_its_tab_is_gone(person, record, stored):
    assert len(documents.door.dump(record)) > 70_000
    ann = person("ann")
    page = ann.open("record", "ada")

    with asked() as methods:
        stand_still(page)
        field(page, "value", 2).fill("last word")
        page.close(run_before_unload=True)
        until(lambda: stored("record", "ada")[0] == 2)

    assert methods == ["PATCH"]
    assert stored("record", "ada") == (2, phone(record, "last word"))
    again = ann.open("record", "ada")
    assert field(again, "value", 2).input_value() == "last word"
    again.wait_for_function("() => document.querySelector('document-session').session.state.offers.length === 0")
    assert again.evaluate("Object.keys(localStorage).filter(key => key.startsWith('documents:draft')).length") == 0


def test_looking_at_another_tab_saves_the_same_way_and_the_next_save_is_made_on_it(person, record, stored):
    ann = person("ann")
    page = ann.open("record", "ada")

    with asked() as methods:
        stand_still(page)
        page.fill("#title", "Ada L.")
        # Headless, every page is visible for ever: the page is told what it would be told.
        page.evaluate("""() => {
            Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
            delete document.visibilityState;
            window.setTimeout = window.later;
        }""")
        wait(page, "clean")
        page.fill("#title", "Ada Lovelace")
        wait(page, "dirty")
        wait(page, "clean")

    assert methods == ["PATCH", "PUT"]
    assert stored("record", "ada") == (3, record | {"title": "Ada Lovelace"})


def test_a_stale_one_of_a_tab_that_is_gone_is_kept_whole_for_the_author(person, record, stored):
    ann = person("ann")
    page = ann.open("record", "ada")
    # The page does not follow while it is looked at; so it has not seen this.
    documents.save("record", "ada", record | {"title": "Sara's"}, expected_version=1, actor_name="Sara")

    with asked() as methods:
        stand_still(page)
        field(page, "value", 2).fill("mine")
        page.close(run_before_unload=True)
        until(lambda: Conflict.objects.count())

    assert methods == ["PATCH"]
    assert stored("record", "ada") == (2, record | {"title": "Sara's"})
    assert documents.door.value_of(Conflict.objects.get().theirs) == phone(record, "mine")


def test_an_attribute_more_is_no_new_value_so_it_waits_in_the_draft(person, record, stored):
    ann = person("ann")
    page = ann.open("record", "ada")

    ann.context.set_offline(True)  # the browser gives up a request of this size when its tab closes, mostly
    page.get_by_role("button", name="Add an attribute").click()
    field(page, "label", 3).fill("E-mail")
    with page.expect_event("close"):
        page.close(run_before_unload=True)
    ann.context.set_offline(False)
    again = ann.open("record", "ada")
    again.get_by_role("button", name="Use it", exact=True).click()
    wait(again, "clean")

    assert stored("record", "ada")[0] == 2
    assert stored("record", "ada")[1]["attributes"][2]["label"] == "E-mail"
    assert Conflict.objects.count() == 0
