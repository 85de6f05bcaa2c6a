"""The desk in a real browser: every button on every shape, pages that follow by themselves, and nothing for axe to find."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.admin.models import LogEntry
from django.test import override_settings

from durable.clock import InSeconds
from durable.models import Message, Operation, Pass, Plan
from project.accounts.models import AccountDeletion
from tests.desk import scenes, shapes
from tests.desk.pages import dead_message, pages
from tests.desk.test_run_page import address

from .operators import desk  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db(transaction=True)


def waiting_message():
    return scenes.message("k8", said="421 try again", attempts=1, due_at=InSeconds(600))


def held_message():
    return scenes.message(
        "k9", status="processing", attempts=1, owner=scenes.an_owner(), lease_expires_at=InSeconds(40)
    )  # fmt: skip


def interrupted_plan():
    columns = {"cause": "interrupted", "due_at": None, "settled_at": InSeconds(-5), "last_error": "interrupted"}
    return shapes.plan(status="failed", **columns)


def executed_plan():
    return shapes.plan(status="executed", due_at=None, settled_at=InSeconds(-5))


BUTTONS = [
    (scenes.waiting, "run-now", "", "pending", "Due"),
    (scenes.waiting, "cancel", "", "canceled", "Canceled"),
    (scenes.waiting, "skip-delete_files", "done by hand", "pending", "Skipped by ada: done by hand"),
    (scenes.dead, "retry", "", "pending", "Due"),
    (scenes.dead, "skip-delete_customer", "no such customer", "pending", "Skipped by ada: no such customer"),
    (scenes.canceled, "retry", "", "pending", "Due"),
    (scenes.running, "cancel", "wrong user", "canceled", "Canceled"),
    (scenes.held_elsewhere, "release", "web-2 was switched off", "running", "Lapsed"),
    (dead_message, "retry", "", "pending", "Due"),
    (waiting_message, "run-now", "", "pending", "Due"),
    (held_message, "release", "web-2 was switched off", "processing", "Lapsed"),
    (shapes.unknown, "look-again", "", "running", "Running over there"),
    (shapes.unknown, "it-happened", "seen at Neon", "running", "Running over there"),
    (shapes.unknown, "it-did-not-happen", "not at Neon", "queued", "Due"),
    (shapes.unknown, "cancel", "", "canceled", "Canceled"),
    (shapes.remote, "cancel", "", "canceled", "Canceled"),
    (shapes.a_pass, "retry", "", "waiting", "Waiting"),
    (shapes.plan, "approve", "", "approved", "approved"),
    (shapes.plan, "reject", "not today", "rejected", "rejected: not today"),
    (interrupted_plan, "resume", "looked at it", "approved", "resumed: looked at it"),
    (executed_plan, "compensate", "", "executed", "Needs a decision"),
]


def test_each_button_of_each_shape_is_pressed_and_confirmed(desk):
    page = desk()
    for number, (scene, name, reason, status, shown) in enumerate(BUTTONS):
        AccountDeletion.objects.all().delete()
        for model in (Message, Operation, Pass, Plan):
            model.objects.all().delete()
        run = scene()
        page.goto(page.base + address(run))

        page.click(f"#decide-{name}")
        if reason:
            page.fill("#reason", reason)
        if page.query_selector("#handle"):
            page.fill("#handle", "op-99")
        page.click("#confirm")

        page.wait_for_selector("#dur-live")
        run.refresh_from_db()
        assert run.status == status, name
        assert shown in page.inner_text("#dur-live"), name
        assert page.inner_text(".messagelist .success")
        entry = LogEntry.objects.exclude(change_message="").latest("pk")
        assert entry.user.username == "ada"
        assert reason in entry.change_message
        assert LogEntry.objects.count() == number + 1


def test_a_button_is_walked_by_keyboard_alone(desk):
    run = scenes.dead()
    page = desk()
    page.goto(page.base + address(run))

    page.focus("#decide-retry")
    page.keyboard.press("Enter")
    page.wait_for_selector("#confirm")
    page.focus("#confirm")
    page.keyboard.press("Enter")
    page.wait_for_selector("#dur-live")

    run.refresh_from_db()
    assert run.status == "pending"


def test_two_operators_press_and_the_second_is_told(desk):
    run = scenes.dead()
    one, two = desk(), desk()
    for page in (one, two):
        page.goto(page.base + address(run, "decide", "retry"))

    one.click("#confirm")
    one.wait_for_selector("#dur-live")
    two.click("#confirm")
    two.wait_for_selector("#dur-live")

    assert "Nothing was changed: the run moved on while you were looking." in two.inner_text(".messagelist")
    assert LogEntry.objects.count() == 1


def test_a_page_follows_a_run_by_itself_and_keeps_what_was_opened(desk):
    run = scenes.running()
    page = desk()
    page.goto(page.base + address(run))
    page.click("#panel-receipts summary")

    AccountDeletion.objects.filter(pk=run.pk).update(
        delete_objects_at=InSeconds(0), status="dead", due_at=None, settled_at=InSeconds(0), lease_expires_at=None,
        owner="", last_error="delete_user refused: held by the law",
    )  # fmt: skip

    page.wait_for_selector(".dur-run[data-standing=dead]", timeout=10_000)
    assert "held by the law" in page.inner_text(".dur-sentence")
    assert page.eval_on_selector("#panel-receipts", "one => one.open")
    assert "it needs a decision" in page.inner_text("#dur-said")
    assert page.eval_on_selector(".dur-run", "one => one.dataset.every") == "0"


def test_a_page_that_nobody_looks_at_asks_nothing(desk):
    run = scenes.running()
    page = desk()
    asked = []
    page.on("request", lambda request: "/live/" in request.url and asked.append(request.url))
    page.goto(page.base + address(run))
    page.wait_for_function("() => performance.getEntriesByType('resource').some(one => one.name.includes('/live/'))")

    page.evaluate(
        """() => {
            Object.defineProperty(document, 'hidden', { get: () => window.away ?? true, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
        }"""
    )
    before = len(asked)
    page.wait_for_timeout(2_600)
    assert len(asked) == before

    page.evaluate("() => { window.away = false; document.dispatchEvent(new Event('visibilitychange')); }")
    page.wait_for_timeout(500)
    assert len(asked) == before + 1


def test_a_page_that_cannot_be_read_again_says_so(desk):
    run = scenes.running()
    page = desk()
    page.route("**/live/", lambda route: route.fulfill(status=500, body="no"))
    page.goto(page.base + address(run))

    page.wait_for_selector("[data-lost]:not([hidden])", timeout=10_000)
    assert "2 of 5" in page.inner_text(".dur-sentence") or "3 of 5" in page.inner_text(".dur-sentence")


def test_without_javascript_everything_is_there(desk):
    run = scenes.waiting()
    page = desk(java_script_enabled=False)
    page.goto(page.base + address(run))

    assert page.is_visible("text=delete_files")
    page.click("#decide-run-now")
    page.click("#confirm")

    run.refresh_from_db()
    assert type(run).objects.due().filter(pk=run.pk).exists()


@pytest.mark.parametrize(
    ("scheme", "width", "language", "part"),
    [
        ("light", 1280, "en", slice(0, None, 2)),
        ("dark", 390, "de", slice(1, None, 2)),
        pytest.param("dark", 1280, "de", slice(None), marks=pytest.mark.long),
        pytest.param("dark", 1100, "ar", slice(None), marks=pytest.mark.long),
        pytest.param("light", 390, "ar", slice(None), marks=pytest.mark.long),
        pytest.param("light", 800, "ar", slice(None), marks=pytest.mark.long),
    ],
)
def test_axe_finds_nothing_on_any_page(desk, scheme, width, language, part):
    faults = {}
    with override_settings(LANGUAGES=[("en", "English"), ("de", "Deutsch"), ("ar", "العربية")]):
        page = desk(with_axe=True, color_scheme=scheme, viewport={"width": width, "height": 800}, locale=language)
        for name, where in [*pages().items()][part]:
            page.goto(page.base + where)
            found = Axe().run(page).response["violations"]
            wrong = [(one["id"], one["nodes"][0]["target"], one["nodes"][0]["html"][:150]) for one in found]
            if wrong:
                faults[name] = wrong
            overflow = page.evaluate(
                "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert overflow <= 1 or name in ("conflicts", "conflict", "document", "history"), (name, overflow)

    assert faults == {}
