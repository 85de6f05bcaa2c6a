"""The overview: problems first, an all-clear otherwise, and no question that grows with the tables."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import documents
from durable import figures, outbox, pauses
from durable.clock import InSeconds
from durable.models import Message, Worker
from durable.owner import current
from project.accounts.models import AccountDeletion

from . import scenes
from .test_list import many, plans

pytestmark = pytest.mark.django_db


def shown(client):
    answer = client.get("/admin/durable/")
    assert answer.status_code == 200
    return answer.content.decode()


def problems(html):
    part = re.search(r'class="dur-problems".*?</section>', html, re.DOTALL)
    return re.findall(r'class="dur-words">(.*?)</span>', part.group()) if part else []


def test_where_nothing_is_wrong_a_sentence_says_so(staff):
    scenes.done()

    html = shown(staff)

    assert problems(html) == []
    assert "All is well: nothing is stuck, nothing was given up, nothing waits for a decision. 0 runs are open." in html


def test_problems_stand_first_each_with_the_way_to_its_runs(staff):
    scenes.dead()
    scenes.lapsed()
    scenes.message("k", status="dead", said="no", attempts=2, due_at=None, settled_at=InSeconds(-7300))
    scenes.workers()

    html = shown(staff)

    assert problems(html) == [
        "Account deletions: 1 was given up, 10 min ago; it needs a decision.",
        "Account deletions: 1 is stuck: due or lapsed for long, or tried many times.",
        "Messages: 1 was given up, 2 h ago; it needs a decision.",
    ]
    assert html.index("3 things need you") < html.index(">Runs<")
    assert reverse("admin:accounts_accountdeletion_changelist") + "?state=trouble" in html


def test_runs_that_are_due_while_nobody_works_are_told_with_since_when(staff):
    scenes.deletion("delete:1", due_at=InSeconds(-90))
    assert re.search(r"Nobody has ever reconciled here: 1 run is due, for 9\d s\.", shown(staff))

    Worker.objects.create(owner=scenes.an_owner(), watches=True, threads=1, seen_at=InSeconds(-4000))
    said = [one for one in problems(shown(staff)) if "Nobody" in one]
    assert re.match(r"Nobody has reconciled since \d{4}-\d\d-\d\d \d\d:\d\d UTC: 1 run is due", said[0])
    assert "gone without a word" in shown(staff)

    Worker.objects.update(seen_at=InSeconds(-10))
    assert not [one for one in problems(shown(staff)) if "Nobody" in one]


def test_workers_are_told_with_what_they_hold(staff):
    scenes.workers()
    scenes.running()
    scenes.held_elsewhere()

    html = " ".join(re.sub(r"<[^>]+>", "", shown(staff)).split())

    assert f"{current().host}, process {current().pid} – alive on this host · watching" in html
    assert "holds 1 run: account deletion delete:42 (lease for 4" in html
    assert "web-2, process 17 – cannot be seen from here · at work" in html
    assert "web-1, process 9 – cannot be seen from here · ended 48 min ago" in html


def test_a_paused_topic_and_an_open_conflict_are_told(staff):
    outbox.post("order.receipt", {}, key="k")
    pauses.pause("order.receipt", reason="the provider is down", seconds=60)
    documents.save("sheet", "budget", {"cells": {}}, expected_version=0, actor_name="ann")
    documents.save("sheet", "budget", {"cells": {"A1": 1}}, expected_version=0, actor_name="ben")

    found = problems(shown(staff))

    assert "The topic order.receipt is paused: the provider is down. Its messages wait." in found
    assert "Documents: 1 conflict waits for a decision, for less than a minute." in found


def test_runs_of_code_that_is_not_here_are_told(staff):
    job = scenes.deletion("delete:1")
    AccountDeletion.objects.filter(pk=job.pk).update(step_names="delete_photos")

    assert "Account deletions: 1 has a step that this code does not know; it waits for code that does." in problems(
        shown(staff)
    )


def test_the_drawing_is_told_in_words(staff):
    for n in range(3):
        scenes.deletion(f"d{n}", done=5, status="done", due_at=None, settled_at=InSeconds(-60 * n))
    scenes.dead()

    html = shown(staff)

    assert 'aria-label="4 settled in the last hour, 1 of them given up"' in html
    assert 'aria-label="4 settled in the last day, 1 of them given up"' in html


def test_a_settlement_is_counted_in_its_minute():
    for seconds in (5, 5, 65, 3600, 86300):
        scenes.deletion(f"d{seconds}{AccountDeletion.objects.count()}", status="done", due_at=None,
                        settled_at=InSeconds(-seconds))  # fmt: skip

    settled = figures.of_kind(AccountDeletion).settled

    assert (settled[-1], settled[-2], settled[-61], settled[1], sum(settled)) == (2, 1, 1, 1, 5)


def test_a_person_sees_the_kinds_that_they_may_see(somebody):
    scenes.dead()
    scenes.message("k", status="dead", said="no", attempts=1, due_at=None, settled_at=InSeconds(-5))
    looker = somebody("durable.view_message")

    html = shown(looker)

    assert [one.partition(":")[0] for one in problems(html)] == ["Messages"]
    assert "delete:45" not in html


def test_an_error_in_a_reason_is_no_html_and_no_secret(staff):
    outbox.post("order.receipt", {}, key="k")
    pauses.pause("order.receipt", reason=f"{scenes.BAD} password=hunter2secret", seconds=60)

    html = shown(staff)

    assert "<img src=x" not in html
    assert "hunter2secret" not in html


def test_the_figures_of_a_kind_cost_at_most_eight_statements():
    scenes.scenes()

    with CaptureQueriesContext(connection) as queries:
        found = figures.of_kind(AccountDeletion)

    assert len(queries) <= 8
    assert (found.open, found.due, found.waiting, found.running, found.lapsed, found.stuck, found.dead) == (
        5, 1, 1, 2, 1, 1, 1,
    )  # fmt: skip
    assert {holding.key for holding in found.held} == {"delete:42", "delete:43", "delete:44"}


@pytest.mark.postgres
def test_no_figure_reads_a_table():
    many(20_000, apart=60)

    with CaptureQueriesContext(connection) as queries:
        figures.of_kind(AccountDeletion)

    for sql, plan in plans([q["sql"] for q in queries.captured_queries if "accounts_accountdeletion" in q["sql"]]):
        assert "Seq Scan" not in plan, (sql, plan)


@pytest.mark.postgres
def test_what_was_settled_lately_is_read_off_the_index_alone():
    many(20_000)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")

    with CaptureQueriesContext(connection) as queries:
        figures.of_kind(AccountDeletion)

    per_minute = [
        q["sql"] for q in queries.captured_queries if "GROUP BY 1" in q["sql"] and "last_error" not in q["sql"]
    ]
    for _, plan in plans(per_minute):
        assert "Index Only Scan" in plan, plan
    assert per_minute


def test_bounds_are_told(monkeypatch, staff):
    monkeypatch.setattr(figures, "MOST", 2)
    for n in range(3):
        scenes.deletion(f"d{n}")

    found = figures.of_kind(AccountDeletion)

    assert (found.open, found.is_capped) == (2, True)
    assert ">2+</a>" in shown(staff)
    assert Message.objects.count() == 0
