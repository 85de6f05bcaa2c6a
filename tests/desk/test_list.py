"""The list: what it finds, and that it costs the same with a million rows."""

import time

import pytest
from django.contrib.admin.sites import site
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from durable.admin import paging, runs
from durable.clock import InSeconds
from durable.models import Message
from project.accounts.models import AccountDeletion

from . import scenes

pytestmark = pytest.mark.django_db

LIST = "/admin/accounts/accountdeletion/"


def found(staff, query=""):
    answer = staff.get(LIST + query)
    assert answer.status_code == 200, answer.headers.get("Location")
    return {run.key for run in answer.context["cl"].result_list}


KEYS = {
    "waiting": "delete:41", "running": "delete:42", "lapsed": "delete:43", "elsewhere": "delete:44", "dead": "delete:45",
    "done": "delete:46", "canceled": "delete:47", "due": "delete:48",
}  # fmt: skip


@pytest.mark.parametrize(
    ("query", "scenes_found"),
    [
        ("", [*KEYS]),
        ("?state=open", ["waiting", "running", "lapsed", "elsewhere", "due"]),
        ("?state=stuck", ["lapsed"]),
        ("?state=due", ["due"]),
        ("?state=waiting", ["waiting"]),
        ("?state=running", ["running", "elsewhere"]),
        ("?state=lapsed", ["lapsed"]),
        ("?state=dead", ["dead"]),
        ("?state=canceled", ["canceled"]),
        ("?state=done", ["done"]),
        ("?state=nonsense", []),
        ("?lease=free", ["waiting", "due"]),
        ("?lease=held", ["running", "elsewhere"]),
        ("?lease=lapsed", ["lapsed"]),
        ("?step=delete_files", ["waiting"]),
        ("?step=cancel_subscription", ["due"]),
        ("?q=delete:4", [*KEYS]),
        ("?q=delete:43", ["lapsed"]),
        ("?q=elete", []),
        ("?begun=1999", []),
        ("?begun=1999-13", [*KEYS]),
    ],
)
def test_what_a_filter_and_a_search_find(staff, query, scenes_found):
    scenes.scenes()

    assert found(staff, query) == {KEYS[name] for name in scenes_found}


def test_a_run_is_found_by_its_id(staff):
    run = scenes.scenes()["dead"]

    assert found(staff, f"?q={run.pk}") == {"delete:45"}


def test_dates_are_a_hierarchy_over_the_ids_own_time(staff):
    scenes.deletion("now")
    today = AccountDeletion.objects.get().created_at.date()

    page = staff.get(LIST + f"?begun={today.year}").content.decode()

    assert f"begun={today:%Y-%m}" in page
    for value in (f"{today.year}", f"{today:%Y-%m}", f"{today:%Y-%m-%d}"):
        assert found(staff, f"?begun={value}") == {"now"}
    assert "Any date" in page


def test_a_row_says_where_the_run_stands_in_words(staff):
    scenes.scenes()

    page = staff.get(LIST).content.decode()

    for words in ("2 of 5", "Given up", "delete_customer refused: No such customer", "web-2/17, for", "lapsed 7 min ago",
                  "in 4 min", "15 min", "stuck"):  # fmt: skip
        assert words in page


def test_a_list_costs_few_statements_and_reads_no_heavy_column(staff):
    """C82. The session, the person, the count, the rows, the clock, and the oldest row for the dates."""
    for n in range(60):
        scenes.dead(f"k{n}", said="x" * 100_000)

    with CaptureQueriesContext(connection) as queries:
        answer = staff.get(LIST)

    statements = [query["sql"] for query in queries.captured_queries]
    assert len(statements) <= 6, statements
    assert len(answer.content) < 300_000
    lists = [sql for sql in statements if 'FROM "accounts_accountdeletion"' in sql]
    assert not any(
        f'"{name}"' in sql for sql in lists for name in ("failures", "step_log", "arguments", "subscription")
    )
    assert all("LIMIT" in sql for sql in lists)


def test_a_list_of_messages_reads_no_payload_and_no_record_of_attempts(staff):
    scenes.message("k", attempts=3, said="no")

    with CaptureQueriesContext(connection) as queries:
        staff.get(reverse("admin:durable_message_changelist"))

    lists = [
        q["sql"] for q in queries.captured_queries if "durable_message" in q["sql"] or "durable_attempt" in q["sql"]
    ]
    assert lists
    assert not any('"payload"' in sql or '"failures"' in sql or "durable_attempt" in sql for sql in lists)


def many(count, model=AccountDeletion, apart=1):
    """Put rows into the table, so many seconds apart: nearly all done, a few open, a few given up."""
    table, every = model._meta.db_table, f"interval '{apart} second'"
    times = ", ".join(f"now() - n * {every} AS {step}_at" for step in scenes.STEPS)
    columns = ", ".join(f"{step}_at" for step in scenes.STEPS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (id, status, fence, owner, attempts, losses, last_error, failures, key, created_at,"
            f" updated_at, settled_at, due_at, step_names, step_log, user_id, subscription, customer, bucket, initiated_by,"
            f" {columns})"
            f" SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - n * {1000 * apart}), 12, '0') || '7'"
            f" || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,"
            f" CASE WHEN n %% 50000 = 7 THEN 'dead' WHEN n %% 1000 = 3 THEN 'pending' ELSE 'done' END, 1, '', 1, 0,"
            f" CASE WHEN n %% 50000 = 7 THEN 'no' ELSE '' END, '[]', 'many:' || n, now() - n * {every}, now(),"
            f" CASE WHEN n %% 1000 = 3 THEN NULL ELSE now() - n * {every} END,"
            f" CASE WHEN n %% 1000 = 3 THEN now() - n * {every} END,"
            f" '', '{{}}', 1, '', '', '', '', {columns.replace('_at', '')}"
            f" FROM (SELECT n, {times.replace('_at', '')} FROM generate_series(1, %s) n) rows",
            [count],
        )
        cursor.execute(f"ANALYZE {table}")


def timed(staff, address):
    staff.get(address)
    with CaptureQueriesContext(connection) as queries:
        began = time.perf_counter()
        assert staff.get(address).status_code == 200
        took = time.perf_counter() - began
    return took, [query["sql"] for query in queries.captured_queries if "accounts_accountdeletion" in query["sql"]]


def plans(statements):
    told = []
    with connection.cursor() as cursor:
        for sql in statements:
            cursor.execute(f"EXPLAIN {sql}")
            told.append((sql, "\n".join(row[0] for row in cursor.fetchall())))
    return told


PAGES = ["", "?state=dead", "?state=open", "?state=stuck", "?state=due", "?state=canceled", "?lease=held",
         "?step=delete_files", "?q=many:777", "?q=many:1", "?begun=2026"]  # fmt: skip


def an_old_outage(count):
    """Give up the oldest runs: to the newest first they lie behind all that went well since."""
    oldest = AccountDeletion.objects.order_by("pk").values("pk")[:count]
    AccountDeletion.objects.filter(pk__in=list(oldest.values_list("pk", flat=True))).update(
        status="dead", due_at=None, settled_at=InSeconds(-9_000_000), last_error="no"
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounts_accountdeletion")


@pytest.mark.postgres
@pytest.mark.parametrize("query", PAGES)
def test_no_page_of_the_list_reads_the_table(staff, monkeypatch, query):
    monkeypatch.setattr(paging, "LOOKED_THROUGH", 1_000)
    many(20_000)

    _, statements = timed(staff, LIST + query)

    for sql, plan in plans(statements):
        # Where most rows fit, a count and a search read the table's first rows, and end at their limit.
        ends_early = query in ("", "?begun=2026") and "COUNT(*)" in sql and "LIMIT 10001" in sql
        ends_early |= query == "?q=many:1" and sql.endswith("LIMIT 1000")
        assert "Seq Scan on accounts_accountdeletion" not in plan or ends_early, (sql, plan)


@pytest.mark.postgres
def test_what_was_given_up_long_ago_is_not_looked_for_among_all_that_went_well_since(staff):
    many(20_000)
    an_old_outage(4_000)

    _, statements = timed(staff, LIST + "?state=dead")

    assert statements
    assert not [plan for sql, plan in plans(statements) if "accountdeletion_pkey" in plan and "status" in plan]


def test_a_filter_that_no_index_serves_looks_through_the_newest_or_those_of_a_date_and_says_so(staff, monkeypatch):
    monkeypatch.setattr(paging, "LOOKED_THROUGH", 2)
    for n in range(5):
        scenes.canceled(f"c{n}")

    page = staff.get(LIST + "?state=canceled").content.decode()

    assert found(staff, "?state=canceled") == {"c4", "c3"}
    assert "Looked through were the newest 2" in page
    assert "Looked through" not in staff.get(LIST + "?begun=1999&state=canceled").content.decode()
    assert "Looked through" not in staff.get(LIST + "?state=dead").content.decode()


def test_a_search_that_finds_too_much_says_so(staff, monkeypatch):
    for module in (paging, runs):
        monkeypatch.setattr(module, "FOUND", 3)
    for n in range(4):
        scenes.canceled(f"c{n}")

    assert len(found(staff, "?q=c")) == 3
    assert "These are 3 of those found." in staff.get(LIST + "?q=c").content.decode()
    assert "of those found" not in staff.get(LIST + "?q=c2").content.decode()


@pytest.mark.long
@pytest.mark.postgres
def test_every_page_answers_at_once_with_a_million_rows(staff, record_property, capsys):
    many(1_000_000)
    an_old_outage(10_000)

    for address in [*(LIST + query for query in PAGES), "/admin/durable/"]:
        took, statements = timed(staff, address)
        record_property(address, f"{took * 1000:.0f} ms")
        with capsys.disabled():
            print(f"\n  {took * 1000:6.0f} ms  {len(statements)} statements  {address}", end="")
        assert took < 1.0, (address, plans(statements))


def test_the_estimate_is_shown_only_where_the_list_ends_before_the_table():
    from durable.admin.paging import estimate

    assert estimate(Message, "default") is None
    assert site.is_registered(AccountDeletion)
