"""Each decision is made once, by somebody who may, in time by the database's clock; the loser is told by whom and when."""

import threading

import pytest
from django.core.exceptions import PermissionDenied

from durable import plans
from durable.clock import InSeconds
from durable.models import Plan
from tests.durable.actors import Meanwhile
from tests.factories import UserFactory

from .conftest import commits, drain, effects, kinds, may_approve

pytestmark = pytest.mark.django_db


def late(plan):
    Plan.objects.filter(pk=plan.pk).update(expires_at=InSeconds(-1))


def test_an_approval_needs_the_permission(noted):
    plan = noted(1, approved=False)

    for user in (UserFactory(), None):
        for decide in (plan.approve, plan.reject, plan.resume):
            with pytest.raises(PermissionDenied):
                decide(by=user)

    plan.refresh_from_db()
    assert plan.status == "pending"


def test_a_plan_with_four_eyes_is_not_approved_by_who_proposed_it(note, staff, other):
    plan = plans.propose([(note, {"text": "x"})], by=staff, four_eyes=True)

    with pytest.raises(plans.NotAllowed, match="somebody else must approve"):
        plan.approve(by=staff)
    assert plan.approve(by=other)


def test_four_eyes_can_be_the_sites_rule(note, staff, settings):
    settings.DURABLE = {"PLAN_FOUR_EYES": True}

    plan = plans.propose([(note, {"text": "x"})], by=staff)

    with pytest.raises(plans.NotAllowed):
        plan.approve(by=staff)


def test_an_approval_says_who_and_when_and_counts_once(noted, staff, other):
    plan = noted(1, approved=False)

    first, second, third = plan.approve(by=staff), plan.approve(by=other), plan.reject(by=other)

    assert first
    assert (first.verdict, first.by) == ("approved", "grace")
    for lost in (second, third):
        assert not lost
        assert (lost.verdict, lost.by, lost.at) == ("approved", "grace", first.at)
        assert lost.sentence == f"Already decided: approved by grace at {first.at:%Y-%m-%d %H:%M:%S} UTC."
    assert plan.decisions.exclude(verb="proposed").count() == 1


def test_a_rejection_ends_the_plan_and_keeps_its_reason(noted, staff):
    plan = noted(1, approved=False)

    ruling = plan.reject(by=staff, reason="not today")

    assert ruling
    assert (plan.status, "not today" in plan.last_error) == ("rejected", True)
    assert "not today" in plan.approve(by=staff).sentence
    drain()
    assert effects(plan) == []


def test_an_expired_plan_is_not_approved_and_nobody_is_written_down(noted, staff):
    plan = noted(1, approved=False)
    late(plan)

    ruling = plan.approve(by=staff)

    assert not ruling
    assert (ruling.verdict, ruling.by, plan.status) == ("expired", "", "expired")
    assert "expired at" in ruling.sentence
    assert [decision.verb for decision in plan.decisions.all()] == ["proposed"]


def test_an_approved_plan_that_expired_is_never_begun(noted):
    plan = noted(1)
    late(plan)

    assert not plan.run()

    assert (plan.status, effects(plan)) == ("expired", [])
    assert "not executed in time" in plan.last_error


def test_a_worker_expires_what_nobody_decided_or_executed_in_time(noted):
    waiting, approved, fresh = noted(1, approved=False), noted(1), noted(1, approved=False)
    late(waiting)
    late(approved)

    report = drain()

    for plan in (waiting, approved, fresh):
        plan.refresh_from_db()
    assert [plan.status for plan in (waiting, approved, fresh)] == ["expired", "expired", "pending"]
    assert effects(approved) == []
    assert not report.problems


def test_what_was_read_is_what_is_approved(noted, staff):
    plan = noted(1, approved=False)
    read = Plan.objects.get(pk=plan.pk)
    steps = [{**plan.steps[0], "args": {"text": "820000"}}]
    Plan.objects.filter(pk=plan.pk).update(steps=steps)

    seen_before = read.approve(by=staff)  # it holds the digest; execution finds the change
    assert seen_before
    assert not plan.run()
    assert plan.cause == "refused"


def test_a_plan_that_was_changed_before_it_was_read_is_not_approved(noted, staff):
    plan = noted(1, approved=False)
    Plan.objects.filter(pk=plan.pk).update(steps=[{**plan.steps[0], "args": {"text": "820000"}}])
    plan.refresh_from_db()

    ruling = plan.approve(by=staff)

    assert not ruling
    assert "payload was changed" in ruling.sentence
    assert plan.status == "pending"


def test_a_plan_that_became_another_since_it_was_read_is_not_approved(noted, staff):
    from durable.freezing import digest_of

    plan = noted(1, approved=False)
    read = Plan.objects.get(pk=plan.pk)
    plan.title = "another"
    Plan.objects.filter(pk=plan.pk).update(title="another", digest=digest_of(plan))

    ruling = read.approve(by=staff)

    assert not ruling
    assert "not what you were shown" in ruling.sentence


def test_only_an_interrupted_plan_can_be_resumed(noted, staff, bodies):
    from .conftest import refuse

    failed = noted(1)
    bodies[0] = refuse
    failed.run()
    pending = noted(1, approved=False)

    for plan in (failed, pending):
        status = plan.status
        ruling = plan.resume(by=staff)
        assert not ruling
        assert plan.status == status


@pytest.mark.postgres
@commits
@pytest.mark.parametrize("against", ["approve", "reject"])
def test_C51_two_people_decide_at_once_fifty_times(against, noted, staff, other):
    for _ in range(50):
        plan = noted(1, approved=False)
        barrier, rulings = threading.Barrier(2), []

        def decide(verb, who, pk=plan.pk, barrier=barrier, rulings=rulings):
            mine = Plan.objects.get(pk=pk)
            barrier.wait(10)
            ruling = getattr(mine, verb)(by=who)
            rulings.append(ruling)
            if ruling and verb == "approve":
                mine.run()

        for worker in (Meanwhile(decide, "approve", staff), Meanwhile(decide, against, other)):
            worker.result(within=30)

        (won,) = [ruling for ruling in rulings if ruling]
        (lost,) = [ruling for ruling in rulings if not ruling]
        assert (lost.by, lost.at, lost.verdict) == (won.by, won.at, won.verdict)
        assert lost.sentence.startswith(f"Already decided: {won.verdict} by {won.by} at ")
        assert plan.decisions.exclude(verb="proposed").count() == 1
        plan.refresh_from_db()
        assert (plan.status, len(effects(plan))) == (("executed", 1) if won.verdict == "approved" else ("rejected", 0))


@pytest.mark.postgres
@commits
def test_twenty_parallel_approvals_are_one_execution(noted):
    plan, barrier = noted(3, approved=False), threading.Barrier(20)
    people = [may_approve(UserFactory()) for _ in range(20)]
    rulings, answers = [], []

    def decide(who):
        mine = Plan.objects.get(pk=plan.pk)
        barrier.wait(20)
        rulings.append(bool(mine.approve(by=who)))
        mine.run()
        answers.append(plans.get(plan.pk).status)

    for worker in [Meanwhile(decide, who) for who in people]:
        worker.result(within=30)

    plan.refresh_from_db()
    assert sum(rulings) == 1
    assert set(answers) <= {"executing", "executed"}
    assert (plan.status, plan.fence) == ("executed", 1)
    assert effects(plan) == ["n0", "n1", "n2"]
    assert kinds(plan) == ["ok"] * 3
