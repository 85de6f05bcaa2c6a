"""What a step changes is as the approver saw it, or the step does nothing and says what moved."""

from dataclasses import dataclass

import pytest

from durable import Refused, plans
from durable.testing import expire_leases
from tests.app.models import Account, Effect

from .conftest import effects, kinds, take

pytestmark = pytest.mark.django_db


@dataclass
class Rename:
    id: int
    name: str


@pytest.fixture
def rename():
    """An action on accounts whose version is their name."""

    def target(args, context):
        row = context.lock(Account.objects.filter(pk=args.id)).first()
        if row is None and not context.executing:
            raise Refused(f"there is no account {args.id}")
        return [plans.Target(kind="account", id=args.id, version=row.name if row else None, label=f"Account {args.id}")]

    def run(args, context):
        was = context.baseline("account", args.id)
        Account.objects.filter(pk=args.id).update(name=args.name)
        Effect.objects.create(run=context.plan_id, name=f"{was}→{args.name}")
        return {"was": was, "undo": {"id": args.id, "name": was}}

    plans.action("rename", schema=Rename, targets=target, undo="rename", words="Rename account {id} to {name}")(run)
    return "rename"


@pytest.fixture
def account():
    return Account.objects.create(name="v3")


def approved(steps, staff):
    plan = plans.propose(steps)
    assert plan.approve(by=staff)
    return plan


def test_the_version_the_approver_saw_is_frozen_with_the_plan(rename, account):
    plan = plans.propose([(rename, {"id": account.pk, "name": "Ada"})])

    label = f"Account {account.pk}"
    assert plan.steps[0]["targets"] == [{"kind": "account", "id": str(account.pk), "version": "v3", "label": label}]


def test_C52_a_target_that_moved_since_is_left_alone_and_the_plan_stops(rename, account, note, staff):
    plan = approved([(rename, {"id": account.pk, "name": "v5"}), (note, {"text": "after"})], staff)
    Account.objects.update(name="v4")

    assert not plan.run()

    account.refresh_from_db()
    assert (plan.status, plan.cause, kinds(plan)) == ("failed", "conflict", ["conflict", ""])
    assert "stored v4, wanted v3" in plan.step_receipts()[0].error
    assert (account.name, effects(plan)) == ("v4", [])


def test_B5_a_plan_that_touches_one_thing_twice_does_not_conflict_with_itself(rename, account, staff):
    plan = approved([(rename, {"id": account.pk, "name": name}) for name in ("a", "b", "c")], staff)

    assert plan.run()

    assert effects(plan) == ["v3→a", "a→b", "b→c"]


def test_somebody_elses_change_between_two_steps_of_a_plan_is_noticed(rename, account, note, bodies, staff):
    plan = approved(
        [(rename, {"id": account.pk, "name": "a"}), (note, {"text": "x"}), (rename, {"id": account.pk, "name": "b"})],
        staff,
    )
    bodies[1] = lambda _: Account.objects.update(name="an editor's")

    assert not plan.run()

    assert kinds(plan) == ["ok", "ok", "conflict"]
    assert "stored an editor's, wanted a" in plan.step_receipts()[2].error


def test_the_chain_of_versions_goes_on_after_a_resumption(rename, account, note, bodies, staff):
    plan = approved(
        [(rename, {"id": account.pk, "name": "a"}), (note, {"text": "x"}), (rename, {"id": account.pk, "name": "b"})],
        staff,
    )

    class Gone(BaseException): ...

    def gone(_):
        raise Gone

    bodies[1] = gone
    claimed, right = take(plan)
    with pytest.raises(Gone):
        claimed.advance(right)
    bodies.clear()
    expire_leases(plan)
    plan.heal()
    assert plan.resume(by=staff)

    assert plan.run()
    assert kinds(plan) == ["ok"] * 3


def test_a_target_that_is_gone_is_one_that_moved(rename, account, staff):
    plan = approved([(rename, {"id": account.pk, "name": "a"})], staff)
    account.delete()

    assert not plan.run()

    assert (plan.cause, kinds(plan)) == ("conflict", ["conflict"])
    assert "stored None" in plan.step_receipts()[0].error
    assert "account" in plan.answer()["steps"][0]["words"], "the plan outlives what it was about"


def test_an_action_may_find_the_conflict_itself(staff):
    def save(args, context):
        raise plans.TargetMoved("Sheet 7: stored 4, wanted 3")

    plans.action("save")(save)
    plan = approved([("save", {})], staff)

    assert not plan.run()

    assert (plan.cause, plan.step_receipts()[0].error) == ("conflict", "Sheet 7: stored 4, wanted 3")


# Compensation -----------------------------------------------------------------------------------------------------------


def test_a_compensation_takes_back_what_really_happened_last_first(rename, account, note, bodies, staff):
    second = Account.objects.create(name="w1")
    plan = approved(
        [(rename, {"id": account.pk, "name": "a"}), (rename, {"id": second.pk, "name": "b"}), (note, {"text": "x"}),
         (rename, {"id": account.pk, "name": "c"})],
        staff,
    )  # fmt: skip

    def no(_):
        raise Refused("no")

    bodies[2] = no
    plan.run()
    assert kinds(plan) == ["ok", "ok", "failed", ""]

    back = plan.compensate(by=staff)

    assert (back.status, back.compensates_id) == ("pending", plan.pk)
    assert [step["args"] for step in back.steps] == [{"id": second.pk, "name": "w1"}, {"id": account.pk, "name": "v3"}]
    assert [step["of"] for step in back.steps] == [1, 0]
    assert effects(back) == [], "it needs its own approval"
    assert back.approve(by=staff)
    assert back.run()
    assert set(Account.objects.values_list("name", flat=True)) == {"v3", "w1"}
    plan.refresh_from_db()
    assert (plan.status, kinds(plan)) == ("failed", ["ok", "ok", "failed", ""]), "what happened stays what happened"
    assert plan.decisions.filter(verb="compensated").count() == 1


def test_asked_for_again_a_compensation_that_waits_is_the_same_one(rename, account, staff):
    plan = approved([(rename, {"id": account.pk, "name": "a"})], staff)
    plan.run()

    first = plan.compensate(by=staff)

    assert plan.compensate(by=staff).pk == first.pk


def test_what_is_taken_back_is_not_taken_back_again(rename, account, staff):
    plan = approved([(rename, {"id": account.pk, "name": "a"})], staff)
    plan.run()
    back = plan.compensate(by=staff)
    back.approve(by=staff)
    back.run()

    with pytest.raises(plans.NotProposed, match="taken back already"):
        plan.compensate(by=staff)


def test_a_rejected_compensation_may_be_proposed_again(rename, account, staff):
    plan = approved([(rename, {"id": account.pk, "name": "a"})], staff)
    plan.run()
    first = plan.compensate(by=staff)
    first.reject(by=staff)

    assert plan.compensate(by=staff).pk != first.pk


def test_a_plan_goes_on_or_is_taken_back_and_never_both(rename, account, note, bodies, staff):
    class Gone(BaseException): ...

    def gone(_):
        raise Gone

    plan = approved([(rename, {"id": account.pk, "name": "a"}), (note, {"text": "x"})], staff)
    bodies[1] = gone
    claimed, right = take(plan)
    with pytest.raises(Gone):
        claimed.advance(right)
    bodies.clear()
    expire_leases(plan)
    plan.heal()

    back = plan.compensate(by=staff)
    refused = plan.resume(by=staff)
    assert not refused
    assert "is being taken back" in refused.sentence

    back.reject(by=staff)
    assert plan.resume(by=staff)
    with pytest.raises(plans.NotProposed, match="only what has ended"):
        plan.compensate(by=staff)


def test_what_has_no_undo_or_has_not_ended_cannot_be_compensated(noted, staff):
    open_one, done = noted(1), noted(1)
    done.run()

    with pytest.raises(plans.NotProposed, match="only what has ended"):
        open_one.compensate(by=staff)
    with pytest.raises(plans.NotProposed, match="has no undo"):
        done.compensate(by=staff)


def test_a_compensation_sees_what_has_moved_since(rename, account, staff):
    plan = approved([(rename, {"id": account.pk, "name": "a"})], staff)
    plan.run()
    back = plan.compensate(by=staff)
    back.approve(by=staff)
    Account.objects.update(name="an editor's")

    assert not back.run()

    assert (back.cause, Account.objects.get().name) == ("conflict", "an editor's")
