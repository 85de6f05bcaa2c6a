"""
Through a real PgBouncer in transaction mode: no session lock, no LISTEN, no named statement, no setting left behind.
"""

import contextlib
import subprocess
import threading

import psycopg
import pytest

from tests.needs import program

from .app.models import Chore, Effect
from .server import free_port, until_it_answers
from .workers import until

pytestmark = pytest.mark.postgres
JOBS = 40
SERVER_CONNECTIONS = 3
ASLEEP = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%%'"

#: What must never be seen: locks of a session, prepared statements, listeners, on any connection, busy or idle.
SESSION_THINGS = {
    "an advisory lock": "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
    "a LISTEN": "SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'LISTEN%%'",
    "a named statement": "SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'PREPARE%%'",
}


@pytest.fixture
def pooler(server):
    """The port of a PgBouncer with fewer server connections than workers have clients."""
    port = free_port()
    folder = server.folder  # one its own user may read
    ini = folder / "pgbouncer.ini"
    (folder / "users").write_text('"postgres" ""\n')
    ini.write_text(
        f"[databases]\npostgres = host=127.0.0.1 port={server.port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\nauth_file = {folder}/users\n"
        f"pool_mode = transaction\ndefault_pool_size = {SERVER_CONNECTIONS}\nmax_client_conn = 200\n"
        "logfile = /dev/null\nadmin_users = postgres\n"
    )
    with contextlib.ExitStack() as stack:
        log = stack.enter_context((folder / "pgbouncer.log").open("wb"))
        command = [program("pgbouncer", "pgbouncer"), "-q", str(ini)]
        process = subprocess.Popen(command, stdout=log, stderr=log, user=server.user)
        stack.callback(lambda: (process.terminate(), process.wait(10)))
        until_it_answers(port, process)
        yield port


@pytest.fixture
def bystander(server):
    """Looks for what a session leaves behind, all the time, until asked what it saw."""
    seen, looks, end = set(), [0], threading.Event()

    def look() -> None:
        while not end.wait(0.05):
            looks[0] += 1
            seen.update(thing for thing, sql in SESSION_THINGS.items() if server.value(sql))

    thread = threading.Thread(target=look)
    thread.start()
    yield lambda: (seen, looks[0])
    end.set()
    thread.join()


def test_all_work_is_done_through_a_pooler_that_gives_no_session(server, workers, pooler, bystander):
    """C20"""
    for _ in range(JOBS):
        Chore.objects.start(seconds=0.02)
    url = server.url_at(pooler)

    crew = [workers.start("--watch", "--threads", "4", url=url) for _ in range(2)]
    until(lambda: not Chore.objects.exclude(status="done").exists(), "all jobs done", seconds=60)

    seen, looks = bystander()
    assert not seen
    assert looks > 10
    assert all(worker.is_alive for worker in crew)
    assert Effect.objects.count() == 4 * JOBS
    assert Effect.objects.values("run", "name").distinct().count() == 4 * JOBS


def test_a_killed_worker_behind_a_pooler_is_replaced(server, workers, pooler):
    first = workers.start("--watch", url=server.url_at(pooler))
    Chore.objects.start(how="query", seconds=60)
    until(lambda: server.value(ASLEEP))
    first.kill()

    until(lambda: not server.value(f"{ASLEEP} AND state = 'active'"), "the dead worker's query to end")
    Chore.objects.filter(seconds=60).update(seconds=0)
    workers.passes("--wait", "10", url=server.url_at(pooler))

    assert Chore.objects.get().status == "done"
    assert Effect.objects.count() == 4


def test_the_receipts_limits_are_gone_with_its_transaction(server, workers, pooler):
    Chore.objects.start()

    workers.passes(url=server.url_at(pooler))

    for _ in range(SERVER_CONNECTIONS):
        for name in ("idle_in_transaction_session_timeout", "client_connection_check_interval"):
            with psycopg.connect(server.url_at(pooler), autocommit=True) as connection:
                assert connection.execute(f"SHOW {name}").fetchone()[0] == "0"
    assert Chore.objects.get().status == "done"
