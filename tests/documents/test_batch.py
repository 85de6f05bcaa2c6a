"""Keep stored for several conflicts at once: one page, many decisions, each against what the page showed."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

import documents
from documents.models import Conflict, Revision

from .factories import Person, save

pytestmark = pytest.mark.django_db
LIST = "admin:documents_conflict_changelist"


@pytest.fixture
def staff():
    return Person(username="staff", is_staff=True, is_superuser=True)


@pytest.fixture
def client(staff):
    client = Client()
    client.force_login(staff)
    return client


@pytest.fixture
def three():
    """Return three open conflicts, each on a document of its own."""
    found = []
    for key in ("a", "b", "c"):
        save("base", 0, key=key)
        save("stored", 1, key=key, by=Person(username="bob"))
        found.append(save(f"mine {key}", 1, key=key, by=Person(username="ada"), writer="tab").conflict_id)
    return [Conflict.objects.get(pk=pk) for pk in found]


def asked(client, conflicts):
    """Return the page that asks, and what a browser would post from it."""
    chosen = {"action": "keep_stored", "_selected_action": [str(one.pk) for one in conflicts]}
    html = client.post(reverse(LIST), chosen).content.decode()
    form = html[html.index('name="action"') - 200 :]
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form):
        found.setdefault(name, []).append(value)
    return html, found


def test_it_asks_first_and_then_settles_each_with_its_reason(client, staff, three):
    html, form = asked(client, three)

    assert "Keep stored for 3 conflicts" in html
    assert not Conflict.objects.exclude(settled_at=None).exists()
    html = client.post(reverse(LIST), form | {"settle": "1", "reason": "a drill"}, follow=True).content.decode()

    assert "3 conflicts settled: stored kept." in html
    settled = set(Conflict.objects.values_list("decision", "settled_by_name", "reason", "settled_version"))
    assert settled == {("keep_stored", "staff", "a drill", 2)}
    assert Revision.objects.count() == 6
    assert LogEntry.objects.count() == 3


def test_what_moved_since_the_page_was_shown_stays_open_and_is_named(client, three):
    _, form = asked(client, three)
    save("newer", 2, key="a", by=Person(username="carol"))
    save("mine, typed on", 1, key="b", by=Person(username="ada"), writer="tab")

    html = client.post(reverse(LIST), form | {"settle": "1"}, follow=True).content.decode()

    assert "The copy of ada on note/a is not settled" in html
    assert "The copy of ada on note/b is not settled" in html
    assert "1 conflict settled" in html
    assert [one.document.key for one in Conflict.objects.exclude(settled_at=None)] == ["c"]


def test_whoever_was_first_is_named_and_the_button_pressed_twice_settles_once(client, three):
    _, form = asked(client, three)
    documents.settle(
        three[0].pk, choice="take_theirs", expected_version=2, expected_changes=1, by=Person(username="ann")
    )

    client.post(reverse(LIST), form | {"settle": "1"})
    client.post(reverse(LIST), form | {"settle": "1"})

    assert Conflict.objects.get(pk=three[0].pk).decision == "take_theirs"
    assert LogEntry.objects.count() == 2


def test_a_post_that_shows_no_version_settles_nothing(client, three):
    chosen = {"action": "keep_stored", "_selected_action": [str(one.pk) for one in three], "settle": "1"}

    client.post(reverse(LIST), chosen)

    assert not Conflict.objects.exclude(settled_at=None).exists()


def test_settled_ones_are_left_out_and_none_left_is_said(client, three):
    for one in three:
        documents.settle(one.pk, choice="keep_stored", expected_version=2, expected_changes=1)

    chosen = {"action": "keep_stored", "_selected_action": [str(one.pk) for one in three]}
    html = client.post(reverse(LIST) + "?state=all", chosen, follow=True).content.decode()

    assert "None of these conflicts is open." in html


def test_c80_nothing_on_the_page_that_asks_is_markup(client):
    bad = "<img src=x onerror=alert(1)>"
    save("base", 0, key=bad)
    save("stored", 1, key=bad, by=Person(username="bob"))
    kept = save("mine", 1, key=bad, by=Person(username=bad), writer="tab").conflict_id

    html, form = asked(client, [Conflict.objects.get(pk=kept)])
    done = client.post(reverse(LIST), form | {"settle": "1", "reason": bad}, follow=True).content.decode()

    assert bad not in html + done
    assert "&lt;img" in html


def test_it_needs_the_permission_to_settle(three):
    reader = Person(username="looker", is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_conflict"))
    client = Client()
    client.force_login(reader)

    assert "keep_stored" not in client.get(reverse(LIST)).content.decode()
    client.post(reverse(LIST), {"action": "keep_stored", "_selected_action": [str(three[0].pk)], "settle": "1"})

    assert not Conflict.objects.exclude(settled_at=None).exists()
