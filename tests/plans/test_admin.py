"""Plans in the admin: the truth on the page, lawful buttons only, each decision confirmed and kept in the history."""

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from durable import plans
from durable.models import Plan
from durable.testing import expire_leases
from tests.factories import UserFactory

from .conftest import effects, refuse
from .test_healing import vanish_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client, staff):
    client.force_login(staff)
    return client


def page(plan):
    return reverse("admin:durable_plan_change", args=[plan.pk])


def address(plan, verb):
    return reverse("admin:durable_plan_decide", args=[plan.pk, verb])


def press(admin, plan, verb, **data):
    """Open the confirmation as a person does, and confirm it. Return the text of the page one is led to."""
    asked = admin.get(address(plan, verb))
    assert asked.status_code == 200
    return admin.post(address(plan, verb), {"digest": plan.digest, **data}, follow=True).content.decode()


def buttons(admin, plan):
    html = admin.get(page(plan)).content.decode()
    return [verb for verb in ("approve", "reject", "resume", "compensate") if address(plan, verb) in html]


def test_a_plan_that_waits_is_told_in_words_with_its_buttons(admin, note, call):
    plan = plans.propose([(note, {"text": "milk"}), (call, {"n": 3})], title="Groceries")

    html = admin.get(page(plan)).content.decode()

    for part in (
        "Note milk",
        "Call with 3",
        "high risk",
        "cannot be taken back",
        "keyed",
        "proposed",
        "approve or reject",
    ):
        assert part in html
    assert buttons(admin, plan) == ["approve", "reject"]
    assert "Groceries" in admin.get(reverse("admin:durable_plan_changelist")).content.decode()


def test_an_approval_is_confirmed_recorded_and_in_the_history(admin, noted, staff):
    plan = noted(2, approved=False)

    html = press(admin, plan, "approve")

    plan.refresh_from_db()
    assert plan.status == "approved"
    assert "Approved by grace at" in html
    assert plan.decisions.get(verb="approved").by_id == str(staff.pk)
    assert LogEntry.objects.get().change_message == "approve: now approved"
    assert effects(plan) == [], "a worker executes it, not the page"


def test_a_rejection_keeps_its_reason(admin, noted):
    plan = noted(1, approved=False)

    press(admin, plan, "reject", reason="not today")

    plan.refresh_from_db()
    assert (plan.status, plan.decisions.get(verb="rejected").reason) == ("rejected", "not today")
    assert buttons(admin, plan) == []


def test_a_get_decides_nothing_and_a_post_without_what_was_read_asks_again(admin, noted):
    plan = noted(1, approved=False)

    admin.get(address(plan, "approve"))
    answer = admin.post(address(plan, "approve"), {"digest": "another"})

    plan.refresh_from_db()
    assert (answer.status_code, plan.status) == (200, "pending")


def test_an_interrupted_plan_is_told_as_such_and_resumed(admin, noted, bodies):
    plan = noted(3)
    vanish_in(plan, 1, bodies)
    expire_leases(plan)

    html = admin.get(page(plan)).content.decode()
    assert "interrupted" in html
    assert Plan.objects.get(pk=plan.pk).status == "failed", "looking at it healed it"
    assert buttons(admin, plan) == ["resume"]
    press(admin, plan, "resume", reason="seen")

    plan.refresh_from_db()
    assert plan.status == "approved"
    assert plan.run()
    assert effects(plan) == ["n0", "n1", "n2"]


def test_the_confirmation_says_what_may_happen_twice(admin, call, staff, far_side):
    class Gone(BaseException): ...

    plan = plans.propose([(call, {"n": 1})])
    plan.approve(by=staff)
    far_side.answers = [Gone()]
    from .conftest import take

    claimed, right = take(plan)
    with pytest.raises(Gone):
        claimed.advance(right)
    expire_leases(plan)
    plan.heal()

    html = admin.get(address(plan, "resume")).content.decode()

    assert "Step 1 (Call with 1) was begun and is called again, under the same key." in html


def test_what_was_done_is_taken_back_by_a_plan_of_its_own(admin, staff):
    plans.action("do", undo="do", words="Do {what}")(lambda args, context: {"undo": {"what": "the opposite"}})
    plan = plans.propose([("do", {"what": "this"})])
    plan.approve(by=staff)
    plan.run()
    assert buttons(admin, plan) == ["compensate"]

    html = press(admin, plan, "compensate")

    back = Plan.objects.get(compensates=plan)
    assert back.status == "pending"
    assert "Do the opposite" in html


def test_a_failed_plan_has_no_button_that_would_do_it_again(admin, noted, bodies):
    plan = noted(2)
    bodies[1] = refuse
    plan.run()

    html = admin.get(page(plan)).content.decode()

    assert buttons(admin, plan) == []
    assert "no such contact" in html


def test_a_late_press_is_told_who_was_first(admin, noted, other):
    plan = noted(1, approved=False)
    admin.get(address(plan, "approve"))
    Plan.objects.get(pk=plan.pk).reject(by=other)

    html = admin.post(address(plan, "approve"), {"digest": plan.digest}, follow=True).content.decode()

    assert "Already decided: rejected by hedy" in html
    assert LogEntry.objects.count() == 0


def test_without_the_permission_nobody_decides(client, noted):
    from django.contrib.auth.models import Permission

    plan = noted(1, approved=False)
    reader = UserFactory(is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_plan"))
    client.force_login(reader)

    assert buttons(client, plan) == []
    assert client.get(page(plan)).status_code == 200
    assert client.post(address(plan, "approve"), {"digest": plan.digest}).status_code == 403
    plan.refresh_from_db()
    assert plan.status == "pending"


@pytest.mark.parametrize("verb", ["fly", "approve"])
def test_what_is_not_there_is_not_found(admin, note, verb):
    import uuid

    answer = admin.get(reverse("admin:durable_plan_decide", args=[uuid.uuid4(), verb]))

    assert answer.status_code in (302, 404)
