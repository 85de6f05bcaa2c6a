"""
The client in a real Chromium against the real views: what a simulation cannot know about tabs, storage and closing.

Each test is a case of the house's list. State is read from the session itself; waiting is for a state, never for time,
except where the browser writes its storage to the disk.
"""

import json
import os
import signal
import time

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session

import documents
from documents.models import Conflict, Document, Revision
from project.desk.documents import OnTheDesk

from .chromium import ARGUMENTS, executable
from .conftest import Desk, state, wait

pytestmark = pytest.mark.django_db(transaction=True)


def write(page, cell, text, key="Enter"):
    """Choose a cell and type into it, as a person does."""
    page.click(f"#cell-{cell}")
    page.keyboard.type(text)
    page.keyboard.press(key)


def shown(page, cell):
    return page.text_content(f"#cell-{cell}")


def panel(page, name):
    return page.get_by_role("button", name=name, exact=True)


def test_what_is_typed_is_saved_and_a_formula_is_computed(person, stored):
    page = person("ann").open("sheet", "budget")

    write(page, "A1", "2")
    write(page, "A2", "=A1*21")
    wait(page, "clean")

    assert shown(page, "A2") == "42"
    assert stored("sheet", "budget")[1] == {"cells": {"A1": 2, "A2": "=A1*21"}}


def test_half_typed_input_is_in_the_draft_and_never_sent(person, sheet):
    sheet(A1=1)
    page = person("ann").open("sheet", "budget")

    page.click("#cell-B1")
    page.keyboard.type("=SU")
    page.evaluate("document.querySelector('document-session').session.hide()")
    drafts = page.evaluate("Object.entries(localStorage).filter(([key]) => key.startsWith('documents:draft'))")

    assert "=SU" in drafts[0][1]
    assert Revision.objects.count() == 1
    page.keyboard.press("Escape")
    wait(page, "clean")
    assert Revision.objects.count() == 1


def test_offline_keeps_the_text_and_saves_it_when_the_line_is_back(person, sheet, stored):
    sheet(A1=1)
    ann = person("ann")
    page = ann.open("sheet", "budget")

    ann.context.set_offline(True)
    write(page, "A1", "5")
    wait(page, "offline")
    ann.context.set_offline(False)
    wait(page, "clean", timeout=40_000)

    assert stored("sheet", "budget") == (2, {"cells": {"A1": 5}})


def test_a_session_that_ends_costs_no_text_and_the_next_login_saves_it(person, sheet, stored):
    sheet(A1=1)
    ann = person("ann")
    page = ann.open("sheet", "budget")

    Session.objects.all().delete()
    write(page, "A1", "7")
    wait(page, "auth")
    assert panel(page, "Try again").is_visible()
    assert shown(page, "A1") == "7"
    ann.log_in(ann.user)
    panel(page, "Try again").click()
    wait(page, "clean")

    assert stored("sheet", "budget") == (2, {"cells": {"A1": 7}})
    assert Conflict.objects.count() == 0


def test_a_login_that_rotates_the_token_is_not_noticed(person, sheet, stored):
    sheet(A1=1)
    ann = person("ann")
    page = ann.open("sheet", "budget")

    ann.log_in(ann.user)
    write(page, "A1", "8")
    wait(page, "clean")

    assert stored("sheet", "budget") == (2, {"cells": {"A1": 8}})


def test_another_persons_login_neither_sees_nor_sends(person, sheet, stored):
    sheet(A1=1)
    ann = person("ann")
    page = ann.open("sheet", "budget")
    ben = get_user_model().objects.create_user("ben", email="ben@example.org")

    ann.log_in(ben)
    write(page, "A1", "secret")
    wait(page, "auth")
    bens = ann.open("sheet", "budget")

    assert page.is_hidden("#sheet")
    assert state(bens)["offers"] == []
    assert stored("sheet", "budget") == (1, {"cells": {"A1": 1}})
    bens.close()
    ann.log_in(ann.user)
    page.evaluate("dispatchEvent(new Event('focus'))")
    wait(page, "clean")
    assert stored("sheet", "budget") == (2, {"cells": {"A1": "secret"}})


def test_a_duplicated_tab_gets_a_name_of_its_own_and_a_reload_keeps_it(person, sheet, monkeypatch):
    sheet(A1=1)
    ann = person("ann")
    page = ann.open("sheet", "budget")
    name = "sessionStorage.getItem('documents:writer:')"
    nobody_may_save(monkeypatch)
    write(page, "A1", "one")

    with page.expect_popup() as popup:
        page.evaluate("void window.open(location.href)")  # copies sessionStorage, as Duplicate tab does
    twin = popup.value
    wait(twin, "clean")
    write(twin, "A1", "two")
    first, second = page.evaluate(name), twin.evaluate(name)
    drafts = "Object.keys(localStorage).filter(key => key.startsWith('documents:draft')).length"

    assert first != second
    assert page.evaluate(drafts) == 2
    page.reload()
    wait(page, "clean")
    assert page.evaluate(name) == first
    page.wait_for_function("() => document.querySelector('document-session').session.state.offers.length === 2")
    live = {offer["live"]: offer["draft"]["text"] for offer in state(page)["offers"]}
    assert "two" in live[True]
    assert "one" in live[False]


def test_full_storage_falls_back_to_indexeddb_and_says_what_it_has(person, sheet, monkeypatch):
    sheet(A1=1)
    ann = person("ann")
    page = ann.open("sheet", "budget")
    page.evaluate("""() => {
        for (let size = 2 ** 22; size >= 1; size >>= 1) {
            try {
                for (let at = 0; ; at++) localStorage.setItem(`fill${size}.${at}`, 'x'.repeat(size));
            } catch (error) {
                void error;
            }
        }
    }""")
    nobody_may_save(monkeypatch)

    write(page, "A1", "kept in the second place")
    page.wait_for_function("() => document.querySelector('document-session').session.state.backup === 'indexed'")
    # That place is not synchronous, and each key is a draft: wait for the last one to be there, not for the first.
    page.wait_for_function("""async () => {
        const open = indexedDB.open("documents", 1);
        const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
        const kept = await done((await done(open)).transaction("slots").objectStore("slots").getAll());
        return kept.some((text) => JSON.parse(text).draft.text.includes("kept in the second place"));
    }""")
    page.close()
    again = ann.open("sheet", "budget")
    again.wait_for_function("() => document.querySelector('document-session').session.state.offers.length === 1")

    assert "kept in the second place" in state(again)["offers"][0]["draft"]["text"]


def test_closing_with_70_000_bytes_offers_the_text_again(person, sheet, stored):
    sheet(A1=1)
    ann = person("ann")
    page = ann.open("sheet", "budget")
    ann.context.route(
        "**/documents/sheet/budget/", lambda route: None if route.request.method == "PUT" else route.continue_()
    )
    page.evaluate("""() => {
        const { session } = document.querySelector('document-session');
        const long = 'A'.repeat(70000);
        session.edit({ cells: { A1: long } });
        session.flush();
        session.edit({ cells: { A1: `${long}B` } });
    }""")

    with page.expect_event("close"):  # asked to close, it is there for a moment yet
        page.close(run_before_unload=True)
    ann.context.unroute_all()
    again = ann.open("sheet", "budget")
    panel(again, "Use it").click()
    wait(again, "clean")

    assert stored("sheet", "budget")[1]["cells"]["A1"].endswith("AB")
    assert Conflict.objects.count() == 0


def test_a_small_save_goes_on_when_the_tab_is_closed(person, sheet, stored):
    sheet(A1=1)
    page = person("ann").open("sheet", "budget")

    page.evaluate("document.querySelector('document-session').session.edit({ cells: { A1: 'last word' } })")
    page.close(run_before_unload=True)
    for _ in range(100):
        if stored("sheet", "budget")[0] == 2:
            break
        time.sleep(0.05)

    assert stored("sheet", "budget") == (2, {"cells": {"A1": "last word"}})


def test_a_page_from_the_back_forward_cache_reads_again_and_saves(playwright, live_server, sheet, stored):
    sheet(A1=1)
    user = get_user_model().objects.create_user("ann", email="ann@example.org")
    browser = playwright.chromium.launch(
        executable_path=executable(), args=ARGUMENTS, ignore_default_args=["--disable-back-forward-cache"]
    )
    ann = Desk(browser.new_context(), live_server.url, user)
    page = ann.open("sheet", "budget")
    page.evaluate("addEventListener('pageshow', event => { window.persisted = event.persisted; })")

    page.goto(f"{live_server.url}/desk/")
    documents.save("sheet", "budget", {"cells": {"A1": "from elsewhere"}}, expected_version=1, actor_name="Sara")
    page.go_back(wait_until="commit")
    page.wait_for_function("() => document.querySelector('document-session').session.state.version === 2")
    persisted = page.evaluate("window.persisted")
    write(page, "B1", "mine")
    wait(page, "clean")
    browser.close()

    assert persisted is True, "the page was not kept in the cache, so nothing was shown"
    assert stored("sheet", "budget") == (3, {"cells": {"A1": "from elsewhere", "B1": "mine"}})


def test_kill_minus_9_in_the_middle_of_a_save_loses_nothing(playwright, live_server, sheet, stored, tmp_path):
    sheet(A1=1)
    user = get_user_model().objects.create_user("ann", email="ann@example.org")

    def launch():
        return playwright.chromium.launch_persistent_context(
            str(tmp_path), executable_path=executable(), args=ARGUMENTS
        )

    context = launch()
    ann = Desk(context, live_server.url, user)
    page = ann.open("sheet", "budget")
    # The save reaches the server; its answer never comes back.
    page.route(
        "**/documents/sheet/budget/",
        lambda route: route.fetch() and None if route.request.method == "PUT" else route.continue_(),
    )
    write(page, "A1", "typed and sent")
    for _ in range(200):
        if Revision.objects.count() == 2:
            break
        page.wait_for_timeout(50)
    write(page, "A2", "typed after it")
    time.sleep(7)  # Chromium writes localStorage to the disk within five seconds
    kill_browser(tmp_path)
    context = launch()
    ann = Desk(context, live_server.url, user)
    again = ann.open("sheet", "budget")
    panel(again, "Use it").click()
    wait(again, "clean")
    context.close()

    assert stored("sheet", "budget")[1] == {"cells": {"A1": "typed and sent", "A2": "typed after it"}}
    assert Conflict.objects.count() == 0


def kill_browser(profile):
    """Send SIGKILL to the processes that run on this profile, and to no other."""
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command = file.read().split(b"\0")
        except (OSError, ValueError):
            continue
        if f"--user-data-dir={profile}".encode() in command:
            try:
                os.kill(int(entry), signal.SIGKILL)
            except ProcessLookupError:
                continue
    (profile / "SingletonLock").unlink(missing_ok=True)


def nobody_may_save(monkeypatch):
    """Take the permission to write; a request that is cut off in the browser may still arrive when a tab closes."""
    monkeypatch.setattr(OnTheDesk, "can_write", lambda self, user, key: False)


def conflict_between(ann, ben, *, kind="sheet", edit):
    mine, theirs = ann.open(kind, "shared"), ben.open(kind, "shared")
    edit(theirs, "theirs")
    wait(theirs, "clean")
    edit(mine, "mine")
    wait(mine, "conflict")
    return mine, theirs


def into_a1(page, text):
    # Ben's save would reach a clean tab of the same browser; two people have two browsers.
    write(page, "A1", text)


@pytest.mark.parametrize(
    ("button", "choice", "head"), [("Keep mine", "take_theirs", "mine"), ("Take stored", "keep_stored", "theirs")]
)
def test_two_people_settle_a_conflict_in_the_page(person, sheet, stored, button, choice, head):
    sheet("shared", A1=0)
    mine, _ = conflict_between(person("ann"), person("ben"), edit=into_a1)
    assert shown(mine, "A1") == "mine"

    panel(mine, button).click()
    wait(mine, "clean")

    assert stored("sheet", "shared")[1]["cells"]["A1"] == head
    assert shown(mine, "A1") == head
    assert Conflict.objects.get().decision == choice


def test_two_people_merge_a_record_by_attribute(person, stored):
    attributes = [{"id": "a1", "label": "Phone", "value": "1"}, {"id": "a2", "label": "Town", "value": "Ulm"}]
    documents.save(
        "record", "shared", {"title": "Ada", "attributes": attributes}, expected_version=0, actor_name="the test"
    )
    ann, ben = person("ann"), person("ben")
    mine, theirs = ann.open("record", "shared"), ben.open("record", "shared")
    theirs.fill("li:nth-child(1) .value", "2")
    theirs.fill("#title", "Ada L.")
    wait(theirs, "clean")
    mine.fill("li:nth-child(1) .value", "3")
    mine.fill("li:nth-child(2) .value", "Bern")
    wait(mine, "conflict")

    assert panel(mine, "Merge").is_disabled()
    mine.get_by_role("radio", name="3").check()
    panel(mine, "Merge").click()
    wait(mine, "clean")

    head = stored("record", "shared")[1]
    assert head["title"] == "Ada L."
    assert [one["value"] for one in head["attributes"]] == ["3", "Bern"]
    assert mine.input_value("#title") == "Ada L."


def test_staff_settle_in_the_admin_and_the_author_is_told(person, sheet, stored):
    sheet("shared", A1=0)
    mine, _ = conflict_between(person("ann"), person("ben"), edit=into_a1)
    sara = person("sara")
    sara.user.is_staff = sara.user.is_superuser = True
    sara.user.save()
    conflict = Conflict.objects.get()
    desk = sara.context.new_page()
    desk.goto(f"{sara.address}/admin/documents/conflict/{conflict.pk}/change/")
    desk.check("input[name=choice][value=keep_stored]")
    desk.click("input[name=settle]")
    desk.wait_for_load_state()
    conflict.refresh_from_db()
    assert conflict.decision == "keep_stored", desk.url

    mine.evaluate("dispatchEvent(new Event('focus'))")
    mine.wait_for_function("() => document.querySelector('document-session').session.state.conflict?.told")
    assert mine.get_by_text("Settled by sara").is_visible()
    assert shown(mine, "A1") == "mine"
    panel(mine, "Take stored").click()
    wait(mine, "clean")
    assert shown(mine, "A1") == "theirs"


def test_a_deleted_document_keeps_its_text_on_the_screen(person, sheet):
    sheet(A1=1)
    page = person("ann").open("sheet", "budget")
    documents.delete("sheet", "budget", expected_version=1, actor_name="Sara")

    write(page, "A1", "still here")
    wait(page, "gone")

    assert shown(page, "A1") == "still here"
    assert panel(page, "Copy mine").is_visible()
    assert Document.objects.get().version == 2


def test_a_deleted_document_is_saved_as_a_new_one_and_a_name_that_is_taken_is_refused(person, sheet, stored):
    sheet(A1=1)
    sheet("budget 2", A1="another")
    page = person("ann").open("sheet", "budget")
    documents.delete("sheet", "budget", expected_version=1, actor_name="Sara")
    write(page, "A1", "still here")
    wait(page, "gone")

    panel(page, "Save as new").click()
    page.get_by_text("That name is taken.").wait_for()
    assert stored("sheet", "budget 2") == (1, {"cells": {"A1": "another"}})
    page.get_by_label("New name").fill("budget again")
    panel(page, "Save as new").click()
    page.wait_for_url("**/desk/sheet/budget%20again/")
    wait(page, "clean")

    assert shown(page, "A1") == "still here"
    assert stored("sheet", "budget again") == (1, {"cells": {"A1": "still here"}})
    assert Document.objects.get(key="budget").version == 2


def test_signing_out_closes_every_tab_and_the_draft_waits_for_the_return(person, sheet, stored):
    sheet(A1=1)
    ann = person("ann")
    page, other = ann.open("sheet", "budget"), ann.context.new_page()
    other.goto(f"{ann.address}/")
    page.route("**/documents/sheet/**", lambda route: route.abort())
    write(page, "A1", "mine")
    wait(page, "offline", "retrying")

    other.get_by_role("button", name="Sign out").click()
    wait(page, "auth")
    assert page.locator("#sheet").is_hidden()
    assert stored("sheet", "budget")[0] == 1
    page.unroute_all()
    ann.log_in(ann.user)
    page.evaluate("document.querySelector('document-session').session.wake()")
    wait(page, "clean")

    assert stored("sheet", "budget") == (2, {"cells": {"A1": "mine"}})


@pytest.mark.parametrize("locale", ["de"])
def test_the_chip_and_the_panel_speak_the_language_of_the_page(person, sheet, locale):
    sheet(A1=1)
    page = person("ann", locale=locale).open("sheet", "budget")

    assert page.locator("document-session").get_by_role("status").inner_text() == "Gespeichert"


def test_taking_the_panel_off_the_page_saves_and_putting_it_back_shows_the_session(person, sheet, stored):
    sheet(A1=1)
    page = person("ann").open("sheet", "budget")
    snapshot = page.evaluate("""() => {
        const element = document.querySelector('document-session');
        element.session.edit({ cells: { A1: 'swapped away' } });
        const html = element.outerHTML;
        element.remove();
        return html;
    }""")
    for _ in range(100):
        if stored("sheet", "budget")[0] == 2:
            break
        page.wait_for_timeout(50)

    page.evaluate("html => document.querySelector('.top').insertAdjacentHTML('beforeend', html)", snapshot)
    wait(page, "clean")

    assert state(page)["version"] == 2
    assert state(page)["content"] == {"cells": {"A1": "swapped away"}}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(person, sheet, scheme):
    sheet("shared", A1="=1/0", B1=5)
    documents.save(
        "record",
        "ada",
        {"title": "Ada", "attributes": [{"id": "a", "label": "Phone", "value": "1"}]},
        expected_version=0,
        actor_name="t",
    )
    ann = person("ann", color_scheme=scheme)
    pages = [ann.open("sheet", "shared"), ann.open("record", "ada"), ann.context.new_page()]
    pages[2].goto(f"{ann.address}/desk/")
    mine, _ = conflict_between(person("ann", color_scheme=scheme), person("ben"), edit=into_a1)
    merging, other = ann.open("record", "ada"), person("cleo").open("record", "ada")
    other.fill("li .value", "2")
    wait(other, "clean")
    merging.fill("li .value", "3")
    wait(merging, "conflict")

    for page in [*pages, mine, merging]:
        found = Axe().run(page)
        faults = [(one["id"], [node["target"] for node in one["nodes"]]) for one in found.response["violations"]]
        assert faults == [], page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_pages_of_the_admin(person, chromium, live_server, sheet, scheme):
    sheet("shared", A1=1)
    boss = get_user_model().objects.create_superuser("boss", "boss@example.org", "secret")
    conflict_between(person("ann"), person("ben"), edit=into_a1)
    one = Conflict.objects.select_related("document").get()
    # Not `person`: Django's own frame has an inline style, which this site's policy blocks.
    admin = Desk(chromium.new_context(color_scheme=scheme), live_server.url, boss)
    page = admin.context.new_page()
    addresses = [
        f"conflict/{one.pk}/change/",
        f"document/{one.document_id}/change/?from=1&to=2",
        f"revision/{Revision.objects.latest('pk').pk}/change/",
        "conflict/",
    ]

    for address in addresses:
        page.goto(f"{admin.address}/admin/documents/{address}")
        found(page)
    page.check("input[name=_selected_action] >> nth=0")
    page.select_option("select[name=action]", "keep_stored")
    page.click("button[name=index]")
    page.get_by_role("button", name="Keep stored for 1 conflict").wait_for()
    found(page)
    admin.context.close()


def found(page):
    """Fail where axe finds something in our part of the admin's page; the frame around it is Django's."""
    result = Axe().run(page, context="#content-main")
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in result.response["violations"]] == []


def test_no_page_is_wider_than_a_phone(person, sheet):
    sheet("shared", A1="a long text that would make the sheet wider than it is", J9=5)
    ann = person("ann", viewport={"width": 390, "height": 800})
    pages = [ann.open("sheet", "shared"), ann.open("record", "new"), ann.context.new_page()]
    pages[2].goto(f"{ann.address}/desk/")
    mine, _ = conflict_between(person("ann", viewport={"width": 390, "height": 800}), person("ben"), edit=into_a1)

    for page in [*pages, mine]:
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page.url


def test_the_grid_is_used_by_keyboard_alone(person, sheet, stored):
    sheet(A1=1)
    page = person("ann").open("sheet", "budget")

    page.focus("#cell-A1")
    for key in [
        "ArrowRight",
        "ArrowDown",
        "Enter",
        "4",
        "2",
        "Enter",
        "ArrowUp",
        "F2",
        "Escape",
        "ArrowLeft",
        "ArrowUp",
        "Delete",
    ]:
        page.keyboard.press(key)
    wait(page, "clean")

    assert stored("sheet", "budget")[1] == {"cells": {"B2": 42}}
    assert page.evaluate("document.activeElement.id") == "cell-A1"
    assert json.dumps(state(page)["content"])
