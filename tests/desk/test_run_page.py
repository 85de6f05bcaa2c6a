"""The page of one run: what it says in each state, what may be pressed, and what it never shows."""

import re

import pytest
from django.urls import reverse

from durable.models import Message
from project.accounts.models import AccountDeletion

from . import scenes

pytestmark = pytest.mark.django_db


def address(run, view="change", *more):
    return reverse(f"admin:{run._meta.app_label}_{run._meta.model_name}_{view}", args=[run.pk, *more])


def shown(client, run):
    answer = client.get(address(run))
    assert answer.status_code == 200
    return answer.content.decode()


def buttons(html):
    return set(re.findall(r'id="decide-([\w-]+)"', html))


@pytest.mark.parametrize(
    ("state", "pressable"),
    [
        ("waiting", {"run-now", "cancel", "skip-delete_files", "skip-delete_objects", "skip-delete_user"}),
        ("running", {"release", "cancel"}),
        ("elsewhere", {"release", "cancel"}),
        ("lapsed", {"cancel"}),
        ("dead", {"retry", "acknowledge", *(f"skip-{step}" for step in scenes.STEPS[1:])}),
        ("canceled", {"retry"}),
        ("done", set()),
    ],
)
def test_only_what_is_lawful_may_be_pressed(staff, state, pressable):
    html = shown(staff, scenes.scenes()[state])

    assert buttons(html) == pressable


def test_the_sentence_on_top_is_that_of_explain(staff):
    run = scenes.dead()

    html = shown(staff, run)

    badge, rest = "Given up", f"at {run.settled_at:%Y-%m-%d}"
    assert badge in html
    assert rest in html
    assert "nothing happens by itself, it needs a decision. Last: delete_customer refused: No such customer" in html


def test_each_step_has_its_state_its_time_its_starts_and_its_owner(staff):
    html = shown(staff, scenes.waiting())

    rows = re.findall(r'<tr class="dur-step dur-is-(\w+)">.*?</tr>', html, re.DOTALL)
    assert rows == ["done", "done", "failed", "waiting", "waiting"]
    step = re.search(r'dur-is-done">.*?cancel_subscription.*?</tr>', html, re.DOTALL).group()
    assert "0.4 s" in step
    assert "web-2/17" in step
    assert "external · idempotent" in step


def test_an_external_step_begun_more_than_once_is_marked_with_its_key(staff):
    run = scenes.waiting()

    html = shown(staff, run)

    assert "2 external steps may have reached the outside world more often than their receipts say" in html
    assert html.count("perhaps more than once outside") == 2
    assert run.key_for("delete_customer") in html


def test_failures_stand_at_their_step(staff):
    html = shown(staff, scenes.waiting())

    place = html.index('id="failures-delete_files"')
    assert "3 failures, the last: S3Error: SlowDown" in html[place : place + 400]


def test_a_failure_of_a_step_that_is_gone_is_still_shown(staff):
    run = scenes.waiting()
    run.failures[0]["step"] = "delete_photos"
    AccountDeletion.objects.filter(pk=run.pk).update(failures=run.failures)

    assert "Failures of steps that this code does not have" in shown(staff, run)


def test_a_step_that_runs_says_since_when_and_by_whom(staff):
    html = shown(staff, scenes.running())

    assert re.search(r'dur-is-running">.*?data-running="[67]"', html, re.DOTALL)
    assert "alive on this host" in html


def test_an_owner_elsewhere_is_not_called_dead_and_told_with_since_when_it_works(staff):
    scenes.Worker.objects.create(owner=scenes.an_owner(), watches=True, threads=1, began_at=scenes.InSeconds(-3600))

    html = shown(staff, scenes.held_elsewhere())

    assert re.search(
        r"web-2, process 17 – cannot be seen from here, reconciling since \d{4}-\d\d-\d\d \d\d:\d\d UTC", html
    )


@pytest.mark.parametrize("place", ["list", "page", "live", "confirmation", "overview"])
def test_what_somebody_stored_is_never_html(staff, place):
    """C80."""
    run = scenes.dead(f"k {scenes.BAD}", said=f"refused {scenes.BAD}")
    AccountDeletion.objects.filter(pk=run.pk).update(
        subscription=scenes.BAD,
        owner=scenes.BAD,
        step_log={"cancel_subscription": {"by": scenes.BAD, "fence": 1, "skipped": scenes.BAD}},
        failures=[{"step": scenes.BAD, "type": scenes.BAD, "message": scenes.BAD, "owner": scenes.BAD, "attempt": 1}],
    )
    message = scenes.message(
        "x", status="dead", said=scenes.BAD, attempts=1, due_at=None, settled_at=scenes.InSeconds(-5)
    )
    Message.objects.filter(pk=message.pk).update(payload={"html": scenes.BAD, scenes.BAD: 1})
    pages = {
        "list": [reverse("admin:accounts_accountdeletion_changelist"), reverse("admin:durable_message_changelist")],
        "page": [address(run), address(message)],
        "live": [address(run, "live"), address(message, "live")],
        "confirmation": [address(run, "decide", "retry"), address(message, "decide", "retry")],
        "overview": ["/admin/durable/"],
    }

    for page in pages[place]:
        html = staff.get(page).content.decode()
        assert "<img src=x" not in html
        assert place == "overview" or "&lt;img src=x" in html


def test_what_is_secret_by_its_name_is_not_shown(staff):
    message = scenes.message("x")
    Message.objects.filter(pk=message.pk).update(
        payload={"to": "ada", "api_key": "abc-123", "deep": [{"password": "pw"}]}
    )

    html = shown(staff, message)

    assert "ada" in html
    assert "abc-123" not in html
    assert "&quot;pw&quot;" not in html


def test_an_old_error_is_shown_without_its_secrets(staff):
    html = shown(staff, scenes.dead(said="GET https://ada:hunter2secret@example.org/ failed"))

    assert "hunter2secret" not in html
    assert "[redacted]" in html


def test_the_page_is_not_posted_to(staff):
    run = scenes.waiting()

    assert staff.post(address(run), {"status": "done", "reason": "x"}).status_code == 403
    run.refresh_from_db()
    assert run.status == "pending"


def test_who_may_look_and_who_may_decide(somebody):
    run = scenes.waiting()
    nobody, looker = somebody(), somebody("accounts.view_accountdeletion")
    decider = somebody("accounts.view_accountdeletion", "accounts.change_accountdeletion")

    assert nobody.get(address(run)).status_code == 403
    assert nobody.get(address(run, "live")).status_code == 403
    assert buttons(shown(looker, run)) == set()
    assert looker.get(address(run, "decide", "cancel")).status_code == 403
    assert looker.post(address(run, "decide", "cancel"), {"status": "pending", "fence": "4"}).status_code == 403
    assert "cancel" in buttons(shown(decider, run))
    run.refresh_from_db()
    assert run.status == "pending"


def test_a_page_of_nothing_is_a_redirect_and_its_living_part_is_404(staff):
    run = scenes.done()
    AccountDeletion.objects.all().delete()

    assert staff.get(address(run)).status_code == 302
    assert staff.get(address(run, "live")).status_code == 404
    assert staff.get("/admin/accounts/accountdeletion/nonsense/change/").status_code == 302


def test_the_living_part_says_how_soon_to_look_again(staff):
    found = {
        state: int(re.search(r'data-every="(\d+)"', staff.get(address(run, "live")).content.decode()).group(1))
        for state, run in scenes.scenes().items()
    }

    assert found["running"] == 2
    assert found["waiting"] == 10
    assert found["done"] == found["dead"] == found["canceled"] == 0


def test_the_page_of_a_run_costs_the_same_however_often_it_failed(staff, django_assert_max_num_queries):
    run = scenes.waiting()

    with django_assert_max_num_queries(8):
        staff.get(address(run))
