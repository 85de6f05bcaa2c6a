"""Passes: every row is synced, one failure stops nothing, a crash costs a few rows, and two never run at once."""

import io
import json
import threading
import time

import pytest
from django.core.management import call_command
from django.db import connection, connections

from durable import NotConfigured, RetryAfter, passes
from durable.clock import InSeconds
from durable.contract import Taking, claim
from durable.models import Pass
from durable.runner import Reconciler
from durable.shutdown import Shutdown
from durable.testing.crash import in_child
from tests.app.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "test.sync"


@pytest.fixture
def synced():
    """Rows that were synced, in order."""
    return []


@pytest.fixture
def register(synced):
    """Register a pass over the suite's Effect rows; `register(sync, **options)`."""

    def make(sync=None, **options):
        class Sync(passes.SyncPass):
            def rows(self):
                return Effect.objects.all()

            def sync(self, row):
                synced.append(row.name)
                return sync(row) if sync else False

        passes.register(NAME, **options)(Sync)

    yield make
    passes.forget(NAME)


def rows(number):
    import uuid

    made = Effect.objects.bulk_create([Effect(run=uuid.uuid4(), name=f"{n}") for n in range(number)])
    return [row.name for row in made]


def row():
    return Pass.objects.get(key=NAME)


def boot(lanes=None, **options):
    reconciler = Reconciler([Pass], Shutdown(grace=0), threads=1, lanes=lanes or {}, **options)
    reconciler.prepare()
    return reconciler.run_pass()


def fails(*names):
    def sync(row):
        if row.name in names:
            raise ValueError(f"no {row.name}")
        return row.name == "1"

    return sync


def test_a_boot_makes_it_and_keeps_a_summary(register, synced):
    register(fails())
    names = rows(5)

    report = boot()

    assert synced == names
    assert row().status == "done"
    summary = row().summary
    assert (summary["synced"], summary["changed"], summary["failed"]) == (5, 1, 0)
    assert not report.failed
    assert "5 synced, 1 changed, 0 failed" in row().explain()


def test_one_rows_failure_never_stops_the_rest_and_the_first_errors_are_kept(register, synced):
    register(fails("1", "3"))
    names = rows(5)

    report = boot()

    assert synced == names
    assert (row().status, row().summary["synced"], row().summary["failed"]) == ("failed", 3, 2)
    assert [one["message"] for one in row().summary["errors"]] == ["no 1", "no 3"]
    assert report.failed
    assert "2 of 5 rows failed" in row().last_error


def test_no_more_than_the_first_ten_errors_are_kept(register):
    register(fails(*map(str, range(30))))
    rows(30)

    boot()

    assert row().summary["failed"] == 30
    assert len(row().summary["errors"]) == 10


def test_a_boot_leaves_a_fresh_one_alone_and_one_that_was_named_is_made_again(register, synced):
    register(fresh_for=60)
    rows(1)
    boot()

    boot()
    assert len(synced) == 1
    boot({Pass: frozenset({NAME})})
    assert len(synced) == 2
    Pass.objects.update(settled_at=InSeconds(-61))
    boot()
    assert len(synced) == 3


def test_one_that_is_not_for_boots_waits_until_it_is_asked_for(register, synced):
    register(at_boot=False)
    rows(1)
    boot()
    assert synced == []

    assert passes.request(NAME).run() is True

    assert synced == ["0"]


def test_a_pass_that_failed_is_made_again_at_the_next_boot(register, synced):
    register(fails("0"))
    rows(1)
    boot()

    boot()

    assert synced == ["0", "0"]


def test_reconcile_makes_the_one_pass_that_is_named(register, synced):
    register()
    rows(3)
    out = io.StringIO()

    call_command("reconcile", "--kind", NAME, "--format", "json", stdout=out, stderr=io.StringIO())

    assert json.loads(out.getvalue())["outcomes"]["done"] == 1
    assert len(synced) == 3


def test_a_pass_that_is_not_known_is_wrong_use(capsys):
    from django.core.management.base import CommandError

    with pytest.raises(CommandError, match="there is no kind 'nonsense'"):
        call_command("reconcile", "--kind", "nonsense")
    with pytest.raises(LookupError, match="there is no pass"):
        passes.request("nonsense")


def test_two_servers_never_make_it_at_the_same_time(register, synced):
    entered, go_on = threading.Event(), threading.Event()

    def hold(row):
        entered.set()
        go_on.wait(20)

    register(hold)
    rows(2)
    first = threading.Thread(target=lambda: (boot(), connections.close_all()))
    first.start()
    assert entered.wait(20)

    boot()
    passes.request(NAME).run()
    alone = list(synced)
    go_on.set()
    first.join(20)

    assert alone == ["0"]
    assert synced == ["0", "1"]
    assert row().status == "done"


def test_who_lost_it_stops_at_the_next_checkpoint_and_writes_nothing(register, synced, monkeypatch):
    from durable import syncing

    monkeypatch.setattr(syncing, "_CHECKPOINT", 0)

    def lose(one):
        if one.name == "2":
            Pass.objects.update(lease_expires_at=InSeconds(-1))
            assert claim(Pass, using="default", owner="b/2", lease=60, taking=Taking(pk=row().pk))

    register(lose)
    rows(10)
    boot()

    assert synced == ["0", "1", "2"]
    assert (row().status, row().owner) == ("running", "b/2")


def test_a_crash_costs_no_more_than_the_rows_since_the_last_checkpoint(register, monkeypatch, tmp_path):
    from durable import syncing

    monkeypatch.setattr(syncing, "_CHECKPOINT", 0)
    ledger = tmp_path / "ledger"

    def sync(row):
        with ledger.open("a") as file:
            file.write(f"{row.name}\n")

    register(sync, fresh_for=0)
    names, points, repeats = rows(6), 0, 0
    while True:
        ledger.write_text("")
        asked = passes.request(NAME)
        crash = in_child(asked.run, crash_at=points)
        Pass.objects.filter(lease_expires_at__isnull=False).update(lease_expires_at=InSeconds(-1))
        Pass.objects.filter(status__in=("waiting", "running")).update(due_at=InSeconds(-1))
        assert row().run() is True

        made = ledger.read_text().split()
        assert list(dict.fromkeys(made)) == names  # in the order of their keys, none left out
        assert len(made) - len(names) <= 1
        assert row().summary["synced"] in (len(names), len(made))
        repeats += len(made) - len(names)
        if not crash.killed:
            break
        points += 1
    assert points > 15
    print(f"pass killed at {points} boundaries ({connection.vendor}), {repeats} rows synced again")


def test_a_time_budget_ends_a_go_and_the_next_goes_on_where_it_stopped(register, synced):
    register(lambda row: time.sleep(0.02), budget=0.05)
    names = rows(9)

    boot()
    assert row().status == "waiting"
    assert 0 < len(synced) < 9
    assert "time budget" in row().last_error
    for _ in range(9):
        boot()
        if row().status == "done":
            break

    assert synced == names
    assert row().summary["synced"] == 9


@pytest.mark.parametrize("error", [RetryAfter(60, "429"), NotConfigured("no API key")], ids=["429", "no key"])
def test_what_concerns_every_row_stops_the_pass_which_goes_on_with_that_row(register, synced, error):
    told = [error]

    def sync(row):
        if row.name == "2" and told:
            raise told.pop()

    register(sync)
    names = rows(4)
    boot()
    assert (row().status, synced) == ("waiting", ["0", "1", "2"])
    Pass.objects.update(due_at=InSeconds(-1))

    boot()

    assert synced == ["0", "1", "2", *names[2:]]
    assert row().summary["failed"] == 0


def test_rows_that_cannot_be_read_are_a_failure_that_is_tried_again(register, monkeypatch):
    register()
    monkeypatch.setattr(type(passes.find(NAME).call), "rows", lambda self: 1 / 0)

    report = boot()

    assert row().status == "waiting"
    assert "ZeroDivisionError" in row().last_error
    assert report.failed


def test_a_watching_worker_makes_it_again_when_its_time_has_come(register, synced):
    register(every=3600)
    rows(1)
    boot()

    Pass.maintain("default")
    assert row().status == "done"
    Pass.objects.update(settled_at=InSeconds(-3601))
    Pass.maintain("default")

    assert row().status == "waiting"


def test_whoever_wants_to_can_see_how_far_it_is(register):
    from durable import signals

    counts = []

    def listen(sender, run, seen, total, **_):
        counts.append((seen, total))

    signals.run_progressed.connect(listen)
    try:
        register()
        rows(3)
        boot()
    finally:
        signals.run_progressed.disconnect(listen)

    assert (counts[0], counts[-1]) == ((0, 3), (3, 3))


def test_a_pass_row_is_never_pruned(register):
    from durable.pruning import prune

    register()
    boot()
    Pass.objects.update(settled_at=InSeconds(-1_000_000))

    assert prune(Pass, 10) == 0


@pytest.mark.parametrize(("options", "said"), [({"every": 0}, "every"), ({"budget": "x"}, "budget")])
def test_a_mistake_in_a_declaration_is_told_at_import(options, said):
    with pytest.raises(passes.PassError, match=said):
        passes.register("x", **options)(type("S", (passes.SyncPass,), {"rows": 1, "sync": 1}))
