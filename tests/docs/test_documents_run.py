"""Every Python block of the README and of docs/ is run, in order, as a reader would type it."""

import re
import types
from decimal import Decimal
from pathlib import Path

import pytest
from django.db import connection, models
from django.test.utils import isolate_apps

from durable import calls, syncs

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def blocks(page: Path) -> list[str]:
    """Return the page's Python blocks, each at its own line numbers, so that a traceback names the right line."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return ["\n" * (text[: match.start(1)].count("\n")) + match[1] for match in found]


def run(page: Path, code: str, names: dict) -> None:
    exec(compile(code, str(page), "exec"), names)  # the documents are ours


class Payments:
    """The far side of the examples: it keeps what it was asked."""

    def __init__(self):
        self.calls = []

    def refund(self, order_id, amount, idempotency_key):
        self.calls.append((order_id, amount, idempotency_key))
        return {"id": f"re_{len(self.calls)}"}

    def charge(self, order_id, idempotency_key):
        self.calls.append((order_id, idempotency_key))
        return {"id": f"ch_{len(self.calls)}"}


@pytest.fixture
def shop(transactional_db):
    """An order and a booking table for the examples, and the names they use."""
    with isolate_apps("tests.app"):

        class Order(models.Model):
            total = models.DecimalField(max_digits=12, decimal_places=2)
            refunded_at = models.DateTimeField(null=True)

            class Meta:
                app_label = "app"

        class Booking(models.Model):
            order_id = models.PositiveBigIntegerField()

            class Meta:
                app_label = "app"

        class Payment(models.Model):
            order_id = models.PositiveBigIntegerField()
            provider_id = models.CharField(max_length=40)

            class Meta:
                app_label = "app"

        made = [Order, Booking, Payment]
        with connection.schema_editor() as editor:
            for model in made:
                editor.create_model(model)
        names = {"Order": Order, "Booking": Booking, "Payment": Payment, "payments": Payments()}
        yield types.SimpleNamespace(names={**names, "__name__": "tests.app.example"}, made=made)
        with connection.schema_editor() as editor:
            for model in reversed(made):
                editor.delete_model(model)


def make_table(shop, model) -> None:
    with connection.schema_editor() as editor:
        editor.create_model(model)
    shop.made.append(model)


def test_the_readmes_refund_is_started_and_carried_out(shop):
    names, page = shop.names, ROOT / "README.md"
    declared, started, _, faster = blocks(page)
    names["order"] = names["Order"].objects.create(total=Decimal("10.50"))

    run(page, declared, names)
    make_table(shop, names["Refund"])
    run(page, started, names)
    run(page, faster, {"DATABASES": {"default": {}}})

    job = names["job"]
    assert job.run() is True
    assert job.refund_id == "re_1"
    assert names["payments"].calls == [(names["order"].pk, Decimal("10.50"), job.key_for("pay_back"))]
    names["order"].refresh_from_db()
    assert names["order"].refunded_at is not None


@pytest.mark.django_db
def test_the_readmes_save_is_refused_when_it_is_stale():
    import documents

    _, _, saving, _ = blocks(ROOT / "README.md")
    names = {"documents": documents, "user": None}
    documents.save("sheet", "budget", {"cells": {"A1": "=B1*2"}}, expected_version=0)

    run(ROOT / "README.md", saving, names)
    first = names["outcome"]
    run(ROOT / "README.md", saving.replace("B1*3", "B1*4"), names)

    assert isinstance(first, documents.Saved)
    assert isinstance(names["outcome"], documents.Conflicted)


def test_the_record_of_docs_jobs_is_written_with_the_receipt(shop):
    from durable import step
    from durable.models import Job

    page = ROOT / "docs" / "jobs.md"
    (methods,) = blocks(page)
    body = "class Charge(Job):\n    order_id = models.PositiveBigIntegerField()\n" + "\n".join(
        f"    {line}" if line else "" for line in methods.splitlines()
    )
    shop.names.update(step=step, Job=Job, models=models)

    run(page, body, shop.names)
    make_table(shop, shop.names["Charge"])
    job = shop.names["Charge"].objects.run(order_id=7)

    assert job.status == "done"
    assert shop.names["Payment"].objects.get().provider_id == "ch_1"


def test_the_crash_test_of_docs_testing_passes(shop):
    from durable import step
    from durable.models import Job

    class Refund(Job):
        order_id = models.PositiveBigIntegerField()
        amount = models.PositiveIntegerField()

        class Meta(Job.Meta):
            app_label = "app"

        @step
        def book(self):
            shop.names["Booking"].objects.create(order_id=self.order_id)

    make_table(shop, Refund)
    page = ROOT / "docs" / "testing.md"
    # Each boundary gets an order of its own, so that the page's count of one is about that run.
    orders = iter(range(1, 1000))
    shop.names["Refund"] = types.SimpleNamespace(
        objects=types.SimpleNamespace(start=lambda **given: Refund.objects.start(**{**given, "order_id": next(orders)}))
    )
    (test,) = blocks(page)

    run(page, test.replace("survived.points > 10", "survived.points >= 6"), shop.names)
    shop.names["test_a_refund_survives_a_crash_at_any_statement"]()


def test_the_receipt_of_docs_outbox_is_posted_and_sent(shop):
    from django.test import override_settings

    from durable import conf, outbox
    from durable.models import Message

    page = ROOT / "docs" / "outbox.md"
    posting, mails = blocks(page)
    sent = []
    api = types.SimpleNamespace(
        receipt=lambda order, idempotency_key: sent.append((order, idempotency_key)) or {"id": "r"}
    )
    shop.names.update(payments=api, order=types.SimpleNamespace(pk=7, pay=lambda: None))

    try:
        run(page, posting, shop.names)
        assert Message.objects.get().run() is True
    finally:
        outbox.forget("order.receipt")
    settings: dict = {}
    run(page, mails, settings)

    assert sent == [(7, "receipt:7")]
    with override_settings(DURABLE=settings["DURABLE"]):
        assert conf.problems() == []
        assert conf.setting("EMAIL") == conf.DEFAULTS["EMAIL"]


def test_the_plan_of_docs_plans_is_approved_executed_and_taken_back(shop, capsys):
    from durable import plans
    from project.plans.models import Contact
    from tests.factories import UserFactory

    page = ROOT / "docs" / "plans.md"
    actions, deciding = blocks(page)
    contact, staff = Contact.objects.create(name="Augusta", email="a@example.org"), UserFactory(is_superuser=True)
    shop.names.update(Contact=Contact, contact=contact, user=UserFactory(), staff=staff)
    ours = plans.find("contact.rename")
    plans.forget("contact.rename")

    try:
        run(page, actions, shop.names)
        run(page, deciding, shop.names)
        back = shop.names["plan"].compensate(by=staff)
        back.approve(by=staff)
        assert back.run()
    finally:
        plans.forget("refund")
        plans.forget("contact.rename")
        plans.action("contact.rename", schema=ours.schema, targets=ours.targets, undo=ours.undo, words=ours.words)(
            ours.run
        )

    contact.refresh_from_db()
    assert contact.name == "Augusta"
    assert shop.names["payments"].calls == [(7, 100, shop.names["plan"].key_for(1))]
    assert "Refund 7 ok {'id': 're_1'}" in capsys.readouterr().out


def test_the_reset_of_docs_polling_is_begun_once_and_watched_to_its_end(shop):
    from django.db.models.functions import Now

    from durable import polling
    from durable.models import Operation

    before = polling.find("branch.reset")
    polling.forget("branch.reset")
    begun, statuses = [], iter(["running", "finished"])
    api = types.SimpleNamespace(
        restore=lambda branch, name: begun.append((branch, name)) or {"id": "op-1"},
        find=lambda name: None,
        operation=lambda handle: {"status": next(statuses)},
    )
    (code,) = blocks(ROOT / "docs" / "polling.md")
    try:
        run(ROOT / "docs" / "polling.md", code, shop.names | {"api": api})
        for _ in range(3):
            Operation.objects.update(due_at=Now())
            Operation.objects.get().run()
    finally:
        polling.forget("branch.reset")
        calls._kinds["branch.reset"] = before

    assert begun == [("preview", "reset:7")]
    assert [entry["status"] for entry in Operation.objects.get().seen] == ["running", "finished"]


def test_the_pass_of_docs_passes_is_made(shop):
    import datetime as dt

    from durable import passes

    before = passes.find("billing")
    passes.forget("billing")
    day = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    order = shop.names["Order"].objects.create(total=1)
    shop.names["payments"].paid_at = lambda pk: day
    (code,) = blocks(ROOT / "docs" / "passes.md")
    try:
        run(ROOT / "docs" / "passes.md", code, shop.names)
        assert passes.request("billing").run() is True
    finally:
        passes.forget("billing")
        syncs._passes["billing"] = before

    order.refresh_from_db()
    assert order.refunded_at == day


def test_no_page_has_a_block_that_no_test_runs():
    counted = {
        "README.md": 4,
        "documents.md": 4,
        "jobs.md": 1,
        "outbox.md": 2,
        "passes.md": 1,
        "plans.md": 2,
        "polling.md": 1,
        "testing.md": 1,
    }

    assert {page.name: len(blocks(page)) for page in PAGES if blocks(page)} == counted


def test_the_commands_a_newcomer_types_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ make (\S+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert commands
    assert [command for command in commands if not re.search(rf"^{command}:", makefile, re.MULTILINE)] == []


def test_every_setting_of_durable_stands_in_the_readme():
    from durable.conf import DEFAULTS

    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert [name for name in DEFAULTS if f"| `{name}` |" not in readme] == []


def test_every_link_between_the_documents_leads_somewhere():
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]

    assert broken == []
