"""
A COMMIT whose answer never came: the runner reads the receipt and goes on. A COMMIT that never arrived: it begins again.

The proxy cuts the connection at each COMMIT of a job in turn, after the server has it or before.
"""

from collections import Counter

import pytest
from django.db import connections

from durable import Backoff

from . import results
from .app import models
from .proxy import Proxy
from .server import orm_on
from .subjects import SUBJECTS

pytestmark = pytest.mark.postgres


@pytest.fixture
def proxy(server, workers):
    with Proxy(server.port) as proxy, orm_on(server.url_at(proxy.port)):
        yield proxy


def commits_of(subject, proxy) -> int:
    run = subject.start()
    proxy.commits = 0
    run.run()
    return proxy.commits


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@pytest.mark.parametrize("arrived", [True, False], ids=["answer lost", "commit lost"])
def test_a_lost_commit_is_settled_by_reading_the_receipt(arrived, subject, proxy, workers, monkeypatch):
    subject.budget(monkeypatch, Backoff(attempts=1))
    number = commits_of(subject, proxy)
    assert number >= (3 if subject.once else 1)

    for lost in range(number):
        run = subject.start()
        models.CALLED.clear()
        proxy.commits, proxy.lose_commit, proxy.lose_before = 0, lost, not arrived

        finished = run.run()

        proxy.lose_commit = None
        called = Counter(models.CALLED)
        assert finished, run.explain()
        assert subject.check(run, workers.ledger) == 0
        assert run.failures == []
        assert proxy.commits > lost
        if arrived:
            assert set(called.values()) == {1}, f"a body ran twice although its commit arrived: {called}"

    connections.close_all()
    results.keep("matrix", f"{'answer to COMMIT' if arrived else 'COMMIT'} lost, {subject.name}", database="PostgreSQL",
                 boundaries=number, lost=0, doubled=0, outside_repeats=0,
                 **{"by itself": number, "by the next boot pass": 0})  # fmt: skip
