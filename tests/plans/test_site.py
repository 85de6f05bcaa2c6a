"""The example site's plans: real actions, a page to read before deciding, and endpoints with stable codes."""

import json

import django
import pytest
from django.core import mail
from django.urls import reverse

import documents
from documents.models import Conflict
from durable import plans
from durable.models import Message, Plan
from project.plans.models import Contact
from tests.factories import UserFactory

from .conftest import take
from .test_deciding import late

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _mail_through_the_outbox(settings):
    """As on the site: pytest puts a backend of its own in its place."""
    name = "durable.contrib.email.OutboxEmailBackend"
    if django.VERSION >= (6, 1):
        settings.MAILERS = {"default": {"BACKEND": name}}
    else:
        settings.EMAIL_BACKEND = name


@pytest.fixture
def contact():
    return Contact.objects.create(name="Augusta King", email="ada@example.org")


@pytest.fixture
def sheet():
    documents.save("sheet", "budget", {"cells": {"A1": 1}}, expected_version=0, actor_name="the test")


@pytest.fixture
def steps(contact, sheet):
    """Three of the four actions; the fourth calls Stripe, see tests/client/test_plans.py."""
    return [
        ["contact.rename", {"id": contact.pk, "name": "Ada Lovelace"}],
        ["document.change", {"kind": "sheet", "key": "budget", "content": {"cells": {"A1": 2}}}],
        ["mail.send", {"to": "ada@example.org", "subject": "Hello", "text": "It is done."}],
    ]


@pytest.fixture
def ask(client, staff):
    """Send JSON to an endpoint as staff; return (status, body)."""
    client.force_login(staff)

    def send(verb, name, *args, **body):
        options = {"data": json.dumps(body), "content_type": "application/json"} if verb != "get" else {}
        answer = getattr(client, verb)(reverse(f"plans:{name}", args=args), **options)
        return answer.status_code, answer.json(), answer.content

    return send


def test_a_plan_of_real_actions_is_proposed_approved_and_executed(ask, steps, contact):
    status, made, _ = ask("post", "api-propose", title="Tidy up", steps=steps)
    assert (status, made["status"]) == (201, "pending")
    assert [step["words"] for step in made["steps"]] == [
        f"Rename contact {contact.pk} to “Ada Lovelace”", "Replace the content of the sheet “budget”",
        "Send “Hello” to ada@example.org",
    ]  # fmt: skip

    status, done, _ = ask("post", "api-approve", made["id"], digest=made["digest"])

    assert (status, done["status"], [step["kind"] for step in done["steps"]]) == (200, "executed", ["ok"] * 3)
    contact.refresh_from_db()
    assert (contact.name, contact.version) == ("Ada Lovelace", 2)
    assert json.loads(documents.read("sheet", "budget").text) == {"cells": {"A1": 2}}
    assert documents.read("sheet", "budget").by == "grace"
    assert Message.objects.get().status == "pending", "the mail is in the outbox, posted with its receipt"
    assert mail.outbox == []


def test_a_repeated_approval_is_answered_from_receipts_byte_for_byte(ask, steps):
    made = ask("post", "api-propose", steps=steps)[1]
    first = ask("post", "api-approve", made["id"])

    again = ask("post", "api-approve", made["id"])

    assert (first[0], again[0]) == (200, 200)
    assert again[2] == first[2] == ask("get", "api-plan", made["id"])[2]
    assert Message.objects.count() == 1


def test_every_issue_of_a_proposal_comes_back(ask, contact):
    status, body, _ = ask(
        "post", "api-propose",
        steps=[["contact.rename", {"id": 999, "name": "x"}], ["mail.send", {"to": "nobody", "subject": "a\nb", "text": ""}],
               ["fly", {}]],
    )  # fmt: skip

    assert (status, body["code"]) == (422, "invalid_plan")
    assert [issue["position"] for issue in body["issues"]] == [0, 1, 1, 2]
    assert "There is no contact 999" in body["message"]
    assert not Plan.objects.exists()


def test_in_flight_expired_rejected_and_failed_have_their_codes_and_carry_the_plan(ask, steps, contact):
    running, expired, rejected, failed = (ask("post", "api-propose", steps=steps)[1]["id"] for _ in range(4))
    plan = plans.get(running)
    plan.approve(by=UserFactory(is_superuser=True))
    take(plan)
    late(plans.get(expired))
    assert ask("delete", "api-plan", rejected)[1]["status"] == "rejected"
    Contact.objects.update(name="somebody else", version=9)
    assert ask("post", "api-approve", failed)[1]["cause"] == "conflict"

    codes = [ask("post", "api-approve", pk)[:2] for pk in (running, expired, rejected, failed)]

    assert [(status, body["code"]) for status, body in codes] == [
        (409, "proposal_in_flight"), (409, "proposal_expired"), (409, "proposal_rejected"), (409, "proposal_failed"),
    ]  # fmt: skip
    assert all(len(body["plan"]["steps"]) == 3 for _, body in codes)
    assert ask("delete", "api-plan", failed)[1]["code"] == "proposal_failed"


def test_a_plan_that_was_not_read_is_not_approved(ask, steps):
    made = ask("post", "api-propose", steps=steps)[1]

    status, body, _ = ask("post", "api-approve", made["id"], digest="of another")

    assert (status, body["code"]) == (409, "proposal_changed")
    assert plans.get(made["id"]).status == "pending"


def test_strangers_find_nothing_and_the_unknown_must_sign_in(client, ask, steps):
    made = ask("post", "api-propose", steps=steps)[1]
    client.logout()
    answer = client.post(reverse("plans:api-approve", args=[made["id"]]))
    assert (answer.status_code, answer.json()["code"]) == (401, "login_required")
    client.force_login(UserFactory())

    answers = [
        client.get(reverse("plans:api-plan", args=[made["id"]])),
        client.post(reverse("plans:approve", args=[made["id"]])),
    ]

    assert [answer.status_code for answer in answers] == [404, 404]


def test_who_proposed_it_may_read_it_and_not_decide(client, contact):
    ada = UserFactory()
    client.force_login(ada)
    plan = plans.propose([("contact.rename", {"id": contact.pk, "name": "x"})], by=ada)

    html = client.get(reverse("plans:plan", args=[plan.pk])).content.decode()
    answer = client.post(reverse("plans:api-approve", args=[plan.pk]), "{}", content_type="application/json")

    assert "Waits for a decision" in html
    assert "Approve these steps" not in html
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize("body", ["[]", "nonsense", "[" * 100_000, '"x"'])
def test_a_body_that_is_no_object_is_refused(client, staff, body):
    client.force_login(staff)

    answer = client.post(reverse("plans:api-propose"), body, content_type="application/json")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_body")


def test_the_page_says_in_words_what_will_happen_to_what_and_what_can_be_undone(client, staff, steps):
    client.force_login(staff)
    plan = plans.propose([tuple(step) for step in steps], by=staff, title="Tidy up <now>")

    html = client.get(reverse("plans:plan", args=[plan.pk])).content.decode()

    for part in (
        "Tidy up &lt;now&gt;", "Rename contact", "Changes contact “Augusta King”, as it is at version 1.", "low risk",
        "can be taken back", "cannot be taken back", "happens exactly once", "Approve these steps",
    ):  # fmt: skip
        assert part in html, part


def test_the_buttons_of_the_page_decide(client, staff, steps):
    client.force_login(staff)
    first, second = (plans.propose([tuple(step) for step in steps], by=staff) for _ in range(2))

    client.post(reverse("plans:approve", args=[first.pk]), {"digest": first.digest})
    client.post(reverse("plans:reject", args=[second.pk]), {"reason": "no"})
    stale = client.post(reverse("plans:approve", args=[second.pk]), {"digest": second.digest}, follow=True)

    assert [plans.get(one.pk).status for one in (first, second)] == ["approved", "rejected"]
    assert "Already decided: rejected by grace" in stale.content.decode()
    assert "Approved" in client.get(reverse("plans:plan", args=[first.pk])).content.decode()


def test_a_document_that_was_edited_meanwhile_stays_as_it_is_and_nothing_is_kept_twice(ask, steps):
    made = ask("post", "api-propose", steps=steps)[1]
    documents.save("sheet", "budget", {"cells": {"A1": "edited"}}, expected_version=1, actor_name="an editor")

    status, body, _ = ask("post", "api-approve", made["id"])

    assert (status, body["cause"], [step["kind"] for step in body["steps"]]) == (
        200,
        "conflict",
        ["ok", "conflict", ""],
    )
    assert "stored 2, wanted 1" in body["steps"][1]["error"]
    assert json.loads(documents.read("sheet", "budget").text) == {"cells": {"A1": "edited"}}
    assert (Conflict.objects.count(), Message.objects.count()) == (0, 0)


def test_two_changes_of_one_document_in_one_plan_follow_each_other(ask, sheet):
    steps = [
        ["document.change", {"kind": "sheet", "key": "budget", "content": {"cells": {"A1": n}}}] for n in (5, 6, 7)
    ]
    made = ask("post", "api-propose", steps=steps)[1]

    assert ask("post", "api-approve", made["id"])[1]["status"] == "executed"
    assert documents.read("sheet", "budget").version == 4


def test_what_was_done_is_taken_back_in_reverse_and_the_mail_is_not(ask, steps, staff, contact):
    made = ask("post", "api-propose", steps=steps, title="Tidy up")[1]
    ask("post", "api-approve", made["id"])

    back = plans.get(made["id"]).compensate(by=staff)
    assert [step["action"] for step in back.steps] == ["document.change", "contact.rename"]
    assert ask("post", "api-approve", str(back.pk))[1]["status"] == "executed"

    contact.refresh_from_db()
    assert (contact.name, contact.version) == ("Augusta King", 3)
    assert json.loads(documents.read("sheet", "budget").text) == {"cells": {"A1": 1}}


def test_the_list_shows_what_waits_first(client, staff, steps):
    client.force_login(staff)
    waiting = plans.propose([tuple(steps[0])], by=staff, title="First")
    done = plans.propose([tuple(steps[2])], by=staff, title="Second")
    done.reject(by=staff)

    html = client.get(reverse("plans:list")).content.decode()

    assert 0 < html.index("First") < html.index("Second")
    assert str(waiting.pk) in html
