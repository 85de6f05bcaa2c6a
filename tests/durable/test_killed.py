"""
SIGKILL before and after every statement of a job's life, its INSERT included: the next boot pass finishes it.

Effects in the database happened exactly once; an external call is repeated only where the process died between the call and
its receipt, and then with the same key. S1 S4 S7
"""

import re

from durable.testing import assert_survives, in_child, run_until_settled
from tests.app.models import Account, Closing, Errand, Posting

from .marks import commits

pytestmark = commits

STEPS = ["one", "two", "three", "four", "five"]


def test_a_job_of_database_steps_survives_a_kill_anywhere(effects, report):
    def once(run):
        assert effects(run) == STEPS

    survived = assert_survives(Errand.objects.start, check=once)

    report("job.run(), five database steps", survived.points)
    assert survived.points >= 2 + 5 * 6
    assert "after COMMIT" in survived.boundaries


def kill_everywhere(begin, model, check) -> list[str]:
    """Kill a child at each boundary of `begin`, reconcile, check; return the boundaries. A run may not have begun at all."""
    boundaries = []
    while True:
        model.objects.all().delete()
        crash = in_child(begin, crash_at=len(boundaries))
        run_until_settled(model)
        for run in model.objects.all():
            assert run.status == "done", f"{crash.boundary}: {run.explain()}"
        check(list(model.objects.all()), crash)
        if not crash.killed:
            return boundaries
        boundaries.append(crash.boundary)


def test_a_job_that_starts_and_runs_survives_from_its_insert_on(effects, report):
    def check(runs, crash):
        began = not crash.boundary.startswith('before INSERT INTO "app_errand"')
        assert len(runs) == began
        for run in runs:
            assert effects(run) == STEPS, crash.boundary

    boundaries = kill_everywhere(Errand.objects.run, Errand, check)

    report("objects.run(), five database steps", len(boundaries))
    assert boundaries[0].startswith("before INSERT")
    assert len(boundaries) >= 2 + 5 * 6


def test_a_start_with_a_hook_leaves_both_or_nothing(report):
    account = Account.objects.create(name="ada")

    def begin():
        Account.objects.update(blocked=False)
        Closing.objects.start(account=account)

    boundaries, seen = [], set()
    while True:
        Closing.objects.all().delete()
        crash = in_child(begin, crash_at=len(boundaries))
        account.refresh_from_db()
        assert account.blocked is Closing.objects.exists(), crash.boundary
        seen.add(account.blocked)
        if not crash.killed:
            break
        boundaries.append(crash.boundary)

    report("objects.start() with on_start", len(boundaries))
    assert seen == {True, False}


def test_a_job_of_external_steps_repeats_a_call_only_between_effect_and_receipt(tmp_path, effects, report):
    """S7"""
    calls, repeats = tmp_path / "calls", []

    def check(run):
        lines = [line.split() for line in calls.read_text().splitlines() if line.startswith(str(run.pk))]
        names = [name for _, name, _ in lines]
        keys = {(name, key) for _, name, key in lines}
        assert sorted({*names}) == ["charge", "mail", "reserve", "sync"]
        assert len(keys) == 4, "a repeat carried another key"
        assert effects(run) == ["charged answer to charge", "noted answer to charge", "synced"]
        assert run.reference == "answer to charge then answer to sync"
        again = [name for name in {*names} if names.count(name) > 1]
        assert len(names) - 4 == len(again) <= 1, f"one kill repeats one call at the most: {names}"
        repeats.append((again or [""])[0])

    survived = assert_survives(lambda: Posting.objects.start(calls=str(calls)), check=check)

    report("job.run(), keyed, idempotent and at-least-once steps, with and without record", survived.points)
    for boundary, repeated in zip(survived.boundaries, repeats, strict=False):
        if repeated:
            assert is_between_effect_and_receipt(boundary), f"{repeated} was repeated after {boundary}"
    # Not vacuous: each of the four was repeated at the boundaries before its COMMIT, and only there.
    assert {*filter(None, repeats)} == {"reserve", "charge", "sync", "mail"}


def is_between_effect_and_receipt(boundary: str) -> bool:
    return bool(
        re.match(r'(before|after) (BEGIN|UPDATE "app_posting"|INSERT INTO "app_effect"|SELECT)|before COMMIT', boundary)
    )


def test_a_kill_during_the_external_call_itself_repeats_it_with_its_key(tmp_path, monkeypatch):
    import os
    import signal

    calls = tmp_path / "calls"
    job = Posting.objects.start(calls=str(calls))
    call = Posting._call

    def call_and_die(self, name):
        call(self, name)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(Posting, "_call", call_and_die)
    in_child(job.run)
    monkeypatch.undo()

    run_until_settled(Posting)

    lines = calls.read_text().splitlines()
    assert lines[0] == lines[1] == f"{job.pk} reserve app.posting:{job.pk}:reserve"
    assert len(lines) == 5
