"""
The operator's desk over many rows: `python bench/admin_pages.py --rows 10000000`.

Builds that many settled account deletions and messages, with some open, given up, failed and canceled among them, on a
PostgreSQL of its own (`DATABASE_URL` names another one; its database `admin_pages` is made anew). Then it asks for each
page through Django's test client and prints queries, milliseconds of the median of five, and the slowest statement.
What takes longer than its bound is marked, and `--explain` prints the plan of each slowest statement. Kept as JSON in
bench/out/admin_pages.json; `--publish` puts it on docs/performance.md.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.admin_table import BOUNDS, late  # noqa: E402

DAYS = 30  # over which the runs were begun, one as long after the other
TURNS = 5
FEW = 100  # rows of each kind that are in trouble or were canceled, however many there are in all
STEPS = ("cancel_subscription", "delete_customer", "delete_files", "delete_objects", "delete_user")

#: Of n, the number of a row: what it is. One in a thousand is open, of which one in ten was tried often. The oldest two in
#: a hundred are an outage that nobody cleared up: to a list of the newest first they lie behind all that went well since.
_STATUS = """CASE WHEN n <= {rows} / 100 THEN '{dead}' WHEN n <= {rows} / 50 THEN 'pending'
             WHEN n % {rare} = 7 THEN '{dead}' WHEN n % {rare} = 8 THEN '{other}'
             WHEN n % 1000 = 3 THEN 'pending'
             ELSE '{done}' END"""
_CONTRACT = ("id, fence, status, owner, attempts, losses, last_error, failures, key, created_at, updated_at, settled_at,"
             " due_at")  # fmt: skip
_VALUES = """(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8'
             || substr(md5(n::text), 4, 15))::uuid, 1, status, '', CASE WHEN n % 10000 = 3 THEN 6 ELSE 1 END, 0,
             CASE WHEN status = '{dead}' OR n % 10000 = 3 THEN 'no' ELSE '' END, '[]', 'many:' || lpad(n::text, 9, '0'),
             at, at, CASE WHEN status <> 'pending' THEN at END, CASE WHEN status = 'pending' THEN at END"""
_NUMBERS = """FROM (SELECT n, at, {status} AS status FROM (SELECT n, now() - make_interval(secs => ({rows} - n) * {apart}) AS at
              FROM generate_series(1, {rows}) n) numbers) rows"""


def fill(rows: int) -> None:
    """Put the rows into both tables, as if begun one by one over the last days."""
    from django.db import connection

    facts = {"rows": rows, "apart": DAYS * 86400 / rows, "rare": max(10, rows // FEW)}
    kinds = {
        "accounts_accountdeletion": (
            {"done": "done", "dead": "dead", "other": "canceled"},
            "step_names, step_log, user_id, subscription, customer, bucket, initiated_by, "
            + ", ".join(f"{step}_at" for step in STEPS),
            "'', '{}'::jsonb, 1, '', '', '', ''" + ", CASE WHEN status = 'done' THEN at END" * len(STEPS),
        ),
        "durable_message": (
            {"done": "sent", "dead": "dead", "other": "failed"},
            "topic, payload, ordering_key, ordinal, provider_id",
            "'order.receipt', '{}'::jsonb, '', 0, ''",
        ),
    }
    with connection.cursor() as cursor:
        for table, (words, names, values) in kinds.items():
            began = time.perf_counter()
            numbers = _NUMBERS.format(**facts, status=_STATUS.format(**facts, **words))
            sql = f"INSERT INTO {table} ({_CONTRACT}, {names}) SELECT {_VALUES.format(**words)}, {values} {numbers}"
            cursor.execute(sql)
            cursor.execute(f"VACUUM ANALYZE {table}")
            cursor.execute("SELECT pg_size_pretty(pg_total_relation_size(%s::regclass))", [table])
            size = cursor.fetchone()[0]
            print(f"{table}: {rows:,} rows, {size}, built in {time.perf_counter() - began:.0f} s", flush=True)


def addresses() -> dict[str, list[str]]:
    """Return the pages by their bound."""
    from django.urls import reverse

    jobs, messages = reverse("admin:accounts_accountdeletion_changelist"), reverse("admin:durable_message_changelist")
    year = time.strftime("%Y")
    states = ("open", "stuck", "due", "waiting", "running", "lapsed", "dead", "trouble")
    common = ["", *(f"?state={state}" for state in states)]
    common += [
        "?lease=held",
        "?lease=free",
        "?q=many:000777",
        "?q=many:0",
        "?q=many:0001",
        "?q=nobody",
        f"?begun={year}",
        "?p=200",
    ]
    both = ["?state=dead&lease=free", f"?state=dead&begun={year}"]
    return {
        "overview": ["/admin/durable/"],
        "list": [
            *(jobs + query for query in (*common, *both, "?state=done", "?state=canceled", "?step=delete_files")),
            *(messages + query for query in (*common, *both, "?state=sent", "?state=failed", "?topic=order.receipt",
                                             "?topic=telegram.notice"))
        ],
    }  # fmt: skip


def ask(client, address: str) -> tuple[float, list[dict]]:
    """Return the milliseconds of one answer, and its statements."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        began = time.perf_counter()
        status = client.get(address).status_code
        took = (time.perf_counter() - began) * 1000
    if status != 200:
        raise RuntimeError(f"{address}: {status}")
    return took, captured.captured_queries


def measure(only: str, *, explain: bool) -> list[dict]:
    """Ask for each page, print a line each, and return what was found, in milliseconds."""
    from django.contrib.auth import get_user_model
    from django.db import connection
    from django.test import Client

    client, found = Client(), []
    user = get_user_model().objects.filter(username="ada").first()
    client.force_login(user or get_user_model().objects.create_superuser("ada", "ada@example.org", "x"))
    print("| page | queries | median | first | the slowest statement |\n|---|---|---|---|---|")
    for kind, pages in addresses().items():
        for address in (one for one in pages if only in one):
            first, _ = ask(client, address)
            turns = [ask(client, address) for _ in range(TURNS)]
            middle, queries = statistics.median(took for took, _ in turns), turns[-1][1]
            slowest = max(queries, key=lambda query: float(query["time"]))
            late = middle > BOUNDS[kind]
            found.append({"kind": kind, "page": address, "queries": len(queries), "median": middle, "first": first})
            mark = " **too slow**" if late else ""
            print(
                f"| {address}{mark} | {len(queries)} | {middle:.0f} ms | {first:.0f} ms | {slowest['time']} s |",
                flush=True,
            )
            if explain or late:
                with connection.cursor() as cursor:
                    cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {slowest['sql']}")
                    print(slowest["sql"], *(row[0] for row in cursor.fetchall()), sep="\n    ", flush=True)
    return found


def main() -> int:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each of the two kinds (default 1000000)")
    parser.add_argument("--keep", action="store_true", help="measure what the last run with DATABASE_URL has built")
    parser.add_argument("--only", default="", help="pages whose address has this in it")
    parser.add_argument("--explain", action="store_true", help="print the plan of the slowest statement of each page")
    parser.add_argument("--publish", action="store_true", help="put the result on docs/performance.md")
    options = parser.parse_args()
    from bench.publish import publish
    from bench.quiet import QUIET, load_at_rest
    from bench.server import Server

    if options.publish and (options.only or load_at_rest() > QUIET):
        parser.error("--publish: only all pages, from a machine that is left alone")
    server = Server.started()
    if not options.keep:
        server.fresh_database("admin_pages")
    os.environ["DATABASE_URL"] = server.url_of("admin_pages")
    os.environ["DJANGO_SETTINGS_MODULE"] = "project.settings"
    os.environ["ALLOWED_HOSTS"] = "testserver"
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    if not options.keep:
        call_command("migrate", verbosity=0)
        fill(options.rows)
        server.settle()
    found = measure(options.only, explain=options.explain)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), current_setting('shared_buffers')")
        version, buffers = cursor.fetchone()
    machine = (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, Django {django.__version__}, PostgreSQL "
        f"{version.split()[0]}, shared_buffers {buffers}, load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}"
    )
    print(f"\n{machine}")
    record = {"rows": options.rows, "pages": found, "machine": machine}
    (ROOT / "bench" / "out").mkdir(exist_ok=True)
    (ROOT / "bench" / "out" / "admin_pages.json").write_text(json.dumps(record, indent=1))
    if options.publish:
        publish({"W8": record})
    return 1 if late(found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
