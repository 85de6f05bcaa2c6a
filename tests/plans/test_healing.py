"""A plan whose owner vanished is interrupted: its receipts are what happened, and only a decision lets it go on. S2 S4"""

import json

import pytest

from durable import healing, plans
from durable.attempt import Outcome, attempt
from durable.contract import claim
from durable.errors import LostLease, NotAsApproved, StepTimeout
from durable.models import Plan
from durable.testing import expire_leases, in_child

from .conftest import commits, drain, effects, kinds, refuse, take

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """The worker is gone: nothing of it runs any more."""


def vanish_in(plan, position, bodies):
    """Claim the plan as another worker would, and let it vanish in that step."""

    def gone(_):
        raise Killed

    bodies[position] = gone
    claimed, right = take(plan)
    with pytest.raises(Killed):
        claimed.advance(right)
    bodies.clear()
    plan.refresh_from_db()
    return claimed, right


def test_C49_an_interrupted_plan_answers_from_its_receipts_and_runs_nothing_again(noted, bodies):
    plan = noted(3)
    vanish_in(plan, 1, bodies)

    assert not plan.run(), "it is executing, as far as anybody can know"
    assert (plan.status, kinds(plan)) == ("executing", ["ok", "", ""])
    expire_leases(plan)
    seen = plans.get(plan.pk)
    assert (seen.status, seen.cause) == ("failed", "interrupted")
    answers = []
    for _ in range(2):
        assert not plan.run()
        answers.append(json.dumps(plans.get(plan.pk).answer()))

    assert kinds(plan) == ["ok", "", ""]
    assert effects(plan) == ["n0"]
    assert answers[0] == answers[1]


def test_a_boot_pass_interrupts_what_nobody_read_and_says_so(noted, bodies):
    plan = noted(2)
    vanish_in(plan, 0, bodies)
    expire_leases(plan)

    report = drain()

    plan.refresh_from_db()
    assert (plan.status, plan.cause, effects(plan)) == ("failed", "interrupted", [])
    assert "was interrupted" in report.problems[0]
    assert "vanished" in plan.explain()


def test_a_resumed_plan_skips_what_has_a_receipt(noted, bodies, other):
    plan = noted(3)
    vanish_in(plan, 1, bodies)
    expire_leases(plan)
    plan.heal()

    ruling = plan.resume(by=other, reason="the host is back")
    assert ruling
    assert plan.run()

    assert kinds(plan) == ["ok"] * 3
    assert effects(plan) == ["n0", "n1", "n2"]
    assert [receipt.fence for receipt in plan.step_receipts()] == [1, 2, 2]
    assert [(d.verb, d.by, d.reason) for d in plan.decisions.all()][2:] == [("resumed", "hedy", "the host is back")]


def test_who_resumes_is_who_must_still_be_allowed(noted, bodies, staff, other):
    plan = noted(2)
    vanish_in(plan, 1, bodies)
    expire_leases(plan)
    plan.heal()
    plan.resume(by=other)
    staff.user_permissions.clear()

    assert plan.run()


def test_a_resumed_plan_that_nobody_takes_is_interrupted_again_and_not_expired(noted, bodies, staff):
    from .test_deciding import late

    plan = noted(2)
    vanish_in(plan, 1, bodies)
    expire_leases(plan)
    plan.heal()
    plan.resume(by=staff)
    late(plan)

    assert not plan.run()

    assert (plan.status, plan.cause) == ("failed", "interrupted")


def test_an_owner_that_was_healed_away_writes_nothing(noted, bodies):
    plan = noted(2)
    claimed, right = vanish_in(plan, 0, bodies)
    expire_leases(plan)
    plan.heal()
    before = plan.answer()

    assert attempt(claimed, right) is Outcome.LOST
    with pytest.raises(LostLease):
        right.settle("executed")

    plan.refresh_from_db()
    assert plan.answer() == before
    assert effects(plan) == []


def test_an_owner_that_was_healed_away_writes_nothing_into_a_resumed_plan(noted, bodies, staff):
    plan = noted(2)
    claimed, right = vanish_in(plan, 0, bodies)
    expire_leases(plan)
    plan.heal()
    plan.resume(by=staff)
    newer, its_right = take(plan)

    assert attempt(claimed, right) is Outcome.LOST
    assert effects(plan) == []
    assert attempt(newer, its_right) is Outcome.DONE

    assert effects(plan) == ["n0", "n1"]


@pytest.mark.parametrize("position", [None, 0])
@pytest.mark.parametrize(
    "error", [NotAsApproved("changed"), SystemExit(), StepTimeout("slow")], ids=lambda e: type(e).__name__
)
def test_no_end_of_a_late_owner_is_written(error, position, noted, bodies, staff):
    plan = noted(2)
    claimed, right = vanish_in(plan, 0, bodies)
    expire_leases(plan)
    plan.heal()
    plan.resume(by=staff)
    take(plan)
    plan.refresh_from_db()
    before = plan.answer()
    claimed.position_in_hand = position

    with pytest.raises(LostLease):
        claimed.fail(right, error)

    plan.refresh_from_db()
    assert plan.answer() == before
    assert plan.status == "executing"


def test_no_worker_takes_a_plan_whose_owner_vanished_or_whose_time_is_over(noted, bodies):
    """Whatever maintenance has seen of it so far: the claim itself leaves it alone."""
    from .test_deciding import late

    lapsed, expired = noted(1), noted(1)
    vanish_in(lapsed, 0, bodies)
    expire_leases(lapsed)
    late(expired)
    (lane,) = Plan.lanes("default")

    taken = claim(Plan, using="default", owner="w", lease=5.0, limit=10, taking=lane.taking(ahead=True))

    assert taken == []


def test_a_plan_that_was_given_back_meanwhile_is_not_taken_for_one_whose_owner_vanished(noted):
    plan = noted(1)
    _, right = take(plan)
    seen = Plan.objects.get(pk=plan.pk)
    right.release()

    assert not healing._heal(plan._row(), seen)  # given back between the look at it and this

    plan.refresh_from_db()
    assert plan.status == "approved"


def test_an_external_call_that_was_begun_is_told_as_one_that_may_have_happened(call, note, staff, far_side):
    plan = plans.propose([(note, {"text": "a"}), (call, {"n": 1})])
    plan.approve(by=staff)
    far_side.answers = [Killed()]
    claimed, right = take(plan)
    with pytest.raises(Killed):
        claimed.advance(right)
    expire_leases(plan)
    plan.heal()

    assert kinds(plan) == ["ok", "begun"]
    assert [receipt.position for receipt in plan.in_doubt()] == [1]
    assert plan.step_receipts()[1].at is None

    plan.resume(by=staff)
    assert plan.run()
    assert kinds(plan) == ["ok", "ok"]
    assert plan.step_receipts()[1].starts == 2
    assert len(set(far_side.keys)) == 1
    assert len(far_side.calls) == 2


def test_a_process_that_ends_in_a_step_leaves_an_interrupted_plan(noted, bodies):
    def leave(_):
        raise SystemExit

    plan = noted(2)
    bodies[1] = leave
    claimed, right = take(plan)

    with pytest.raises(SystemExit):
        attempt(claimed, right)

    plan.refresh_from_db()
    assert (plan.status, plan.cause, kinds(plan)) == ("failed", "interrupted", ["ok", ""])
    assert effects(plan) == ["n0"]


def test_a_worker_that_is_asked_to_stop_gives_the_plan_back_between_two_steps(noted):
    plan = noted(2)
    claimed, right = take(plan)
    stops = iter([False, True])

    assert attempt(claimed, right, should_stop=lambda: next(stops)) is Outcome.INTERRUPTED

    plan.refresh_from_db()
    assert (plan.status, plan.attempts, kinds(plan)) == ("approved", 0, ["ok", ""])
    assert plan.run()
    assert effects(plan) == ["n0", "n1"]


def test_a_failed_step_is_never_done_again(noted, bodies, staff):
    plan = noted(2)
    bodies[0] = refuse
    plan.run()
    bodies.clear()

    assert not plan.resume(by=staff)
    assert not plan.run()

    assert effects(plan) == []


@commits
def test_a_plan_killed_at_any_statement_shows_what_happened_and_is_resumed_to_its_end(
    noted, note, call, far_side, staff, report, tmp_path
):
    """
    SIGKILL at every third boundary of every statement (the crash suite does each): receipts are the committed effects, always.

    Resumed, each database effect happens once, and a call twice only where the plan said so.
    """
    ledger = tmp_path / "calls"

    def log(args, context):
        with ledger.open("a") as file:
            file.write(f"{context.key}\n")

    plans.forget("call")
    plans.action("call", external="keyed")(log)
    number, interrupted = 0, 0
    while True:
        plan = plans.propose([(note, {"text": "a"}), ("call", {"n": 1}), (note, {"text": "b"})])
        plan.approve(by=staff)
        crash = in_child(plan.run, crash_at=number)
        expire_leases(plan)
        plan.heal()
        receipts = plan.step_receipts()
        assert effects(plan) == [r.output["noted"] for r in receipts if r.kind == "ok" and r.step == "note"], (
            crash.boundary
        )
        calls = [line for line in (ledger.read_text() if ledger.exists() else "").splitlines() if str(plan.pk) in line]
        assert not calls or receipts[1].kind, f"{crash.boundary}: a call without a trace of it"
        if plan.status == "failed":
            interrupted += 1
            assert plan.cause == "interrupted"
            assert plan.resume(by=staff)
        if plan.status == "approved":
            assert plan.run(), crash.boundary
        assert plan.status == "executed", f"{crash.boundary}: {plan.explain()}"
        assert effects(plan) == ["a", "b"], crash.boundary
        again = [line for line in ledger.read_text().splitlines() if str(plan.pk) in line]
        assert len(set(again)) == 1
        assert len(again) == 1 + (plan.step_receipts()[1].starts > 1 and len(calls) == 1)
        if not crash.killed:
            break
        number += 3
    report("plan.run(), two database actions and an external one", number // 3)
    assert number > 60
    assert interrupted > 15
    assert Plan.objects.exclude(status="executed").count() == 0


@pytest.fixture
def report(capsys):
    def say(what, points):
        with capsys.disabled():
            print(f"\n  {points} kill points: {what}")

    return say
