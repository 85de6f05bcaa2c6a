"""Many runs in flight in one process, and a flush that takes longer."""

import threading
import time

import psycopg
import pytest
from django.db import connection

from bench.flights import in_threads, slow_flush
from bench.together import seconds_together


def _counted(place, gate, folder):
    def connected():
        name = threading.current_thread().name
        return lambda: (folder / f"{name}.{time.monotonic_ns()}").touch()

    in_threads(gate, 4, connected, 3)


def _one_fails(place, gate):
    def connected():
        raise ValueError("no connection to be had")

    in_threads(gate, 4, connected, 3)


def test_each_thread_does_its_share(tmp_path):
    seconds_together(1, _counted, tmp_path)

    names = [path.name.rpartition(".")[0] for path in tmp_path.iterdir()]
    assert len(names) == 12
    assert {names.count(name) for name in names} == {3}


def test_a_thread_that_cannot_connect_says_why_and_nobody_waits_for_it(capfd):
    with pytest.raises(RuntimeError, match="a worker process died"):
        seconds_together(1, _one_fails)

    assert "no connection to be had" in capfd.readouterr().err


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_next_session_of_that_database_flushes_two_milliseconds_later():
    connection.ensure_connection()
    given = connection.get_connection_params()
    url = psycopg.conninfo.make_conninfo(
        **{name: given[name] for name in ("dbname", "user", "password", "host", "port") if given.get(name)}
    )
    try:
        slow_flush(url)
        with psycopg.connect(url) as raw:
            assert raw.execute("SELECT current_setting('commit_delay')").fetchone() == ("2000",)
            assert raw.execute("SELECT current_setting('commit_siblings')").fetchone() == ("0",)
    finally:
        with psycopg.connect(url, autocommit=True) as raw:
            raw.execute(f'ALTER DATABASE "{given["dbname"]}" RESET ALL')
