"""
A plan of four real actions, approved in the admin, its worker killed in the middle, resumed: each page shows the truth.

A contact is renamed, a document changed, a customer opened at Stripe, a mail sent through the outbox. The worker dies by
SIGKILL while Stripe has its call in hand.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType

import documents
from durable import plans
from durable.models import Message, Plan
from project.plans.models import Contact
from tests.accounts.conftest import (  # noqa: F401 - fixtures
    far_sides,
    payment_method,
    site_environment,
    stripe_front,
    stripe_itself,
)
from tests.crash.workers import until

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def staff(person):
    """Somebody at their browser who may decide about plans, and see them in the admin."""
    desk = person("grace")
    get_user_model().objects.filter(pk=desk.user.pk).update(is_staff=True)
    kind = ContentType.objects.get_for_model(Plan)
    desk.user.user_permissions.add(Permission.objects.get_or_create(codename="approve_plan", content_type=kind)[0])
    return desk


@pytest.fixture
def worker(site_environment, stripe_front, tmp_path):  # noqa: F811
    """Start `manage.py reconcile` for plans; none is left behind."""
    started = []

    def start(*options):
        env = {**site_environment, "STRIPE_API_BASE": stripe_front.url, "DURABLE_LEASE": "60"}
        command = [sys.executable, "manage.py", "reconcile", "--kind", "durable.plan", *options]
        with (tmp_path / f"worker-{len(started)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=env, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def look(tmp_path):
    """Keep a picture of a page in both schemes; accessibility faults on it fail the test."""
    folder = Path(os.environ.get("SCREENSHOTS") or tmp_path)

    def at(page, name):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=True)
            if "/admin/" not in page.url:
                found = Axe().run(page)
                faults = [
                    (one["id"], [node["target"] for node in one["nodes"]]) for one in found.response["violations"]
                ]
                assert faults == [], (name, scheme)
        page.emulate_media(color_scheme="light")

    return at


def press(page, plan, verb):
    """Press a button of the plan's page in the admin, and confirm it."""
    page.goto(f"{page.base}/admin/durable/plan/{plan.pk}/change/")
    page.get_by_role("link", name=verb, exact=True).click()
    page.get_by_role("button", name=verb, exact=True).click()
    page.wait_for_url("**/change/")


def told(page):
    """Return the headline, and the marks of the steps."""
    marks = page.eval_on_selector_all(".plan-steps li", "items => items.map(item => item.className)")
    return page.inner_text("h1").splitlines()[0], marks


def test_a_plan_is_approved_in_the_admin_killed_in_the_middle_resumed_and_its_page_shows_the_truth(
    staff, worker, look, stripe_front, stripe_itself, payment_method  # noqa: F811
):  # fmt: skip
    contact = Contact.objects.create(name="Augusta King", email="ada@example.org")
    documents.save("sheet", "budget", {"cells": {"A1": 1}}, expected_version=0, actor_name="the test")
    plan = plans.propose(
        [
            ("contact.rename", {"id": contact.pk, "name": "Ada Lovelace"}),
            ("document.change", {"kind": "sheet", "key": "budget", "content": {"cells": {"A1": 2}}}),
            ("customer.open", {"email": "ada@example.org", "payment_method": payment_method}),
            ("mail.send", {"to": "ada@example.org", "subject": "Welcome", "text": "Your account is open."}),
        ],
        title="Welcome Ada",
    )
    address = f"{staff.address}/plans/{plan.pk}/"
    page, admin = staff.context.new_page(), staff.context.new_page()
    admin.base = staff.address
    admin.set_viewport_size({"width": 1280, "height": 800})

    # Before anybody decides, the page says what would happen.
    page.goto(address)
    assert told(page) == ("Waits for a decision", ["next"] * 4)
    assert "as it is at version 1" in page.inner_text("main")
    look(page, "1-pending")

    # Approved in the admin; nothing has happened yet.
    admin.goto(f"{staff.address}/admin/durable/plan/{plan.pk}/change/")
    look(admin, "2-admin-pending")
    press(admin, plan, "Approve")
    page.goto(address)
    assert told(page) == ("Approved", ["next"] * 4)
    contact.refresh_from_db()
    assert contact.name == "Augusta King"

    # A worker begins, and is killed while Stripe works on its call.
    before = len(stripe_front.calls())
    stripe_front.delay_next("POST", "/v1/customers", seconds=6)
    process = worker("--watch")
    until(lambda: stripe_front.unused() == [], "the worker to call Stripe", seconds=40)
    # By itself, and step by step.
    page.wait_for_function("() => document.querySelectorAll('.plan-steps li')[2].className === 'now'")
    assert told(page) == ("Being executed", ["done", "done", "now", "next"])
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert told(page) == ("Being executed", ["done", "done", "now", "next"]), "as far as anybody can know"
    look(page, "3-executing")
    assert worker().wait(60) == 1, "a boot pass says that a person must look"
    page.wait_for_function("() => document.querySelector('h1').innerText.startsWith('Interrupted')")  # by itself
    assert told(page) == ("Interrupted", ["done", "done", "doubt", "never"])
    assert "2 of 4 steps are done and stay done; nothing was rolled back." in page.inner_text(".lead")
    look(page, "4-interrupted")
    assert json.loads(documents.read("sheet", "budget").text) == {"cells": {"A1": 2}}
    assert Message.objects.count() == 0
    until(lambda: len(stripe_front.calls()) > before, "Stripe to have done what the dead worker asked for")

    # Resumed in the admin, with the reason on record.
    admin.goto(f"{staff.address}/admin/durable/plan/{plan.pk}/change/")
    look(admin, "5-admin-interrupted")
    admin.get_by_role("link", name="Resume", exact=True).click()
    assert "was begun and is called again, under the same key" in admin.inner_text("#content")
    look(admin, "6-admin-resume")
    admin.fill("#reason", "the host is back")
    admin.get_by_role("button", name="Resume", exact=True).click()
    admin.wait_for_url("**/change/")
    assert worker().wait(60) == 0

    page.goto(address)
    assert told(page) == ("Executed", ["done"] * 4)
    assert "resumed: the host is back" in page.inner_text("main")
    look(page, "7-executed")
    admin.goto(f"{staff.address}/admin/durable/plan/{plan.pk}/change/")
    look(admin, "8-admin-executed")

    # What happened: each effect once; Stripe was called twice, with one key, and has one customer.
    plan.refresh_from_db()
    contact.refresh_from_db()
    assert (plan.status, contact.name, contact.version) == ("executed", "Ada Lovelace", 2)
    assert documents.read("sheet", "budget").version == 2
    assert Message.objects.count() == 1
    calls = [call for call in stripe_front.calls()[before:] if call.method == "POST" and call.path == "/v1/customers"]
    assert [call.key for call in calls] == [plan.key_for(2)] * 2
    assert [call.fate for call in calls] == ["answered", "replayed"]
    customer = plan.step_receipts()[2].output["customer"]
    assert stripe_itself.customers.retrieve(customer).email == "ada@example.org"
    assert [entry.change_message for entry in LogEntry.objects.order_by("pk")] == [
        "Approved.", "Resumed. Reason: the host is back",
    ]  # fmt: skip
