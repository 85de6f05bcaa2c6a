"""What was approved is what runs, once, with a receipt per step. S1 S6 S9"""

import json

import pytest
from django.db import IntegrityError, OperationalError, connection

from durable import InsideTransaction, Refused, Wait, plans
from durable.effects import outside_transaction
from durable.models import Decision, Plan
from durable.testing import expire_leases
from tests.app.models import Effect

from .conftest import commits, drain, effects, kinds, refuse, take

pytestmark = pytest.mark.django_db


def test_an_approved_plan_runs_step_by_step_and_leaves_a_receipt_each(noted):
    plan = noted(3)

    assert plan.run()

    assert plan.status == "executed"
    assert effects(plan) == ["n0", "n1", "n2"]
    assert [(r.kind, r.output, r.guarantee) for r in plan.step_receipts()] == [
        ("ok", {"noted": f"n{n}"}, "exactly once") for n in range(3)
    ]
    assert all(r.recorded_at and r.took is not None and r.owner for r in plan.step_receipts())


def test_a_worker_executes_what_is_approved_and_nothing_that_is_not(noted):
    approved, waiting = noted(1), noted(1, approved=False)

    report = drain()

    approved.refresh_from_db()
    waiting.refresh_from_db()
    assert (approved.status, waiting.status) == ("executed", "pending")
    assert (effects(approved), effects(waiting)) == (["n0"], [])
    assert not report.failed


def test_it_stops_at_the_first_step_that_is_not_ok_and_keeps_what_was_done(noted, bodies):
    plan = noted(3)
    bodies[1] = refuse

    assert not plan.run()

    assert (plan.status, plan.cause) == ("failed", "failure")
    assert kinds(plan) == ["ok", "failed", ""]
    assert effects(plan) == ["n0"], "the failed step's effect was undone, its receipt was not"
    assert plan.step_receipts()[1].error == "no such contact"


def test_a_failing_steps_own_words_are_kept_for_staff_only(noted, bodies, caplog):
    def leak(_):
        raise RuntimeError("db-7.internal refused, password=hunter2")

    plan = noted(1)
    bodies[0] = leak

    plan.run()

    assert "db-7.internal" in caplog.text
    assert "db-7.internal" in plan.last_error
    assert "db-7.internal" in plan.failures[0]["message"]
    assert "db-7.internal" not in json.dumps(plan.answer())
    assert "hunter2" not in f"{plan.last_error}{plan.failures}", "not even for staff"
    assert "undone" in plan.step_receipts()[0].error


def test_a_database_error_in_a_step_leaves_the_failed_receipt_and_no_effect(noted, bodies):
    def twice(context):
        Effect.objects.create(pk=Effect.objects.get(run=context.plan_id).pk, run=context.plan_id, name="again")

    plan = noted(2)
    bodies[0] = twice

    assert not plan.run()

    assert kinds(plan) == ["failed", ""]
    assert effects(plan) == []
    assert plan.failures[0]["type"] == "IntegrityError"


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_C21_what_the_database_rolled_back_is_done_again_and_is_no_verdict(state, noted, bodies):
    tries = []

    def trouble(_):
        tries.append(1)
        if len(tries) < 3:
            cause = Exception("could not serialize access")
            cause.sqlstate = state
            raise OperationalError("could not serialize access") from cause

    plan = noted(2)
    bodies[0] = trouble

    assert plan.run()

    assert len(tries) == 3
    assert kinds(plan) == ["ok", "ok"]
    assert effects(plan) == ["n0", "n1"]
    assert plan.failures == []


@commits
@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_C21_the_same_at_commit(state, noted, bodies):
    tries = []

    def fails():
        del connection.commit
        connection.rollback()
        cause = Exception("could not serialize access")
        cause.sqlstate = state
        raise OperationalError("could not serialize access") from cause

    def trouble(_):
        tries.append(1)
        if len(tries) < 3:
            connection.commit = fails

    plan = noted(2)
    bodies[0] = trouble

    assert plan.run()

    assert len(tries) == 3
    assert kinds(plan) == ["ok", "ok"]
    assert effects(plan) == ["n0", "n1"]


def test_a_repeat_of_a_finished_plan_is_answered_from_receipts_and_never_runs(noted):
    plan = noted(2)
    plan.run()
    before = json.dumps(plans.get(plan.pk).answer())

    assert plan.run()
    assert not take_nothing(plan)
    drain()

    assert json.dumps(plans.get(plan.pk).answer()) == before
    assert effects(plan) == ["n0", "n1"]


def take_nothing(plan):
    expire_leases(plan)
    try:
        return take(plan)
    except IndexError:
        return None


def test_run_inside_a_transaction_is_refused(noted):
    from django.db import transaction

    plan = noted(1)

    with transaction.atomic(), pytest.raises(InsideTransaction, match="inside a transaction"):
        plan.run()


# What was approved ----------------------------------------------------------------------------------------------------


def by_orm(plan):
    steps = [{**plan.steps[0], "args": {"text": "820000"}}]
    Plan.objects.filter(pk=plan.pk).update(steps=steps)


def by_sql(plan):
    steps = json.dumps([{**plan.steps[0], "args": {"text": "820000"}}])
    with connection.cursor() as cursor:
        value = str(plan.pk) if connection.vendor == "postgresql" else plan.pk.hex
        cursor.execute("UPDATE durable_plan SET steps = %s WHERE id = %s", [steps, value])


def with_its_digest(plan):
    from durable.freezing import digest_of

    by_orm(plan)
    changed = Plan.objects.get(pk=plan.pk)
    Plan.objects.filter(pk=plan.pk).update(digest=digest_of(changed))


def another_title(plan):
    Plan.objects.filter(pk=plan.pk).update(title="harmless")


@pytest.mark.parametrize("change", [by_orm, by_sql, with_its_digest, another_title])
def test_C47_a_plan_changed_after_its_approval_is_refused(change, noted):
    plan = noted(1)
    change(plan)

    assert not plan.run()

    assert (plan.status, plan.cause) == ("failed", "refused")
    assert "payload differs from approved" in plan.last_error
    assert effects(plan) == []
    assert kinds(plan) == [""]
    assert plan.failures[0]["type"] == "NotAsApproved"


def test_a_saved_instance_changes_nothing_of_a_plan(noted):
    plan = noted(1)
    plan.steps = []
    plan.status = "executed"

    plan.save()

    plan.refresh_from_db()
    assert plan.status == "approved"
    assert plan.run()


def test_an_approval_without_a_decision_is_refused(noted):
    plan = noted(1, approved=False)
    from django.db.models.functions import Now

    Plan.objects.filter(pk=plan.pk).update(status="approved", due_at=Now())

    drain()

    plan.refresh_from_db()
    assert plan.cause == "refused"
    assert "nobody approved it" in plan.last_error
    assert effects(plan) == []


def test_a_decision_of_another_plan_is_no_approval(noted):
    first, second = noted(1), noted(1)
    Decision.objects.filter(plan=second, verb="approved").delete()
    Decision.objects.filter(plan=first, verb="approved").update(plan=second)

    assert not second.run()

    assert second.cause == "refused"


@pytest.mark.parametrize("loss", ["permission", "inactive", "gone"])
def test_an_approver_who_may_not_any_more_stops_the_plan(loss, noted, staff):
    plan = noted(1)
    if loss == "permission":
        staff.user_permissions.clear()
    elif loss == "inactive":
        type(staff).objects.filter(pk=staff.pk).update(is_active=False)
    else:
        staff.delete()

    assert not plan.run()

    assert (plan.status, plan.cause, effects(plan)) == ("failed", "refused", [])
    assert "grace" in plan.last_error
    assert plan.decisions.get(verb="approved").by == "grace", "the record outlives the account"


def test_the_permission_of_an_action_is_asked_for_at_approval_and_at_execution(staff):
    from django.contrib.auth.models import Permission

    plans.action("guarded", permission="accounts.change_user")(lambda args, context: None)
    plan = plans.propose([("guarded", {})])
    with pytest.raises(plans.NotAllowed, match=r"accounts\.change_user"):
        plan.approve(by=staff)
    permission = Permission.objects.get(codename="change_user")
    staff.user_permissions.add(permission)
    staff = type(staff).objects.get(pk=staff.pk)
    assert plan.approve(by=staff)
    staff.user_permissions.remove(permission)

    assert not plan.run()

    assert plan.cause == "refused"
    assert "accounts.change_user" in plan.last_error


def test_another_version_of_an_action_is_not_what_was_approved(staff):
    def pay(args, context): ...

    plans.action("pay")(pay)
    plan = plans.propose([("pay", {})])
    plan.approve(by=staff)
    plans.forget("pay")
    plans.action("pay", version=2)(pay)

    assert not plan.run()

    assert (plan.cause, "version 2" in plan.last_error) == ("refused", True)


def test_code_that_lacks_an_action_leaves_the_plan_to_code_that_has_it(noted):
    plan = noted(2)
    kept = plans.find("note")
    plans.forget("note")

    report = drain()
    plan.refresh_from_db()
    assert (plan.status, effects(plan)) == ("approved", [])
    assert "note" in plan.explain()
    assert not report.failed

    plans.action("note", words=kept.words, schema=kept.schema)(kept.run)
    assert plan.run()


def test_a_receipt_beyond_the_plan_is_noticed(noted):
    plan = noted(1)
    plan.log.create(plan=plan, position=7, action="note", guarantee="", kind="ok", fence=1, owner="x")

    assert not plan.run()

    assert (plan.cause, effects(plan)) == ("refused", [])


# External actions -----------------------------------------------------------------------------------------------------


def test_an_external_action_is_called_outside_a_transaction_with_a_key_of_plan_and_position(
    call, note, staff, far_side
):
    seen = []
    far_side_call = far_side.__call__
    plans.forget("call")

    def watch(args, context):
        seen.append(outside_transaction(context.using))
        return far_side_call(args, context)

    plans.action("call", external="keyed")(watch)
    plan = plans.propose([(note, {"text": "a"}), ("call", {"n": 1}), ("call", {"n": 2})])
    plan.approve(by=staff)

    assert plan.run()

    assert seen == [True, True]
    assert far_side.keys == [f"durable.plan:{plan.pk}:1", f"durable.plan:{plan.pk}:2"]
    assert [r.guarantee for r in plan.step_receipts()] == ["exactly once", "keyed", "keyed"]
    assert [r.starts for r in plan.step_receipts()] == [1, 1, 1]


def test_an_external_call_that_fails_says_that_it_may_have_arrived(call, staff, far_side):
    far_side.answers = [OSError("connection reset")]
    plan = plans.propose([(call, {"n": 1}), (call, {"n": 2})])
    plan.approve(by=staff)

    assert not plan.run()

    assert kinds(plan) == ["failed", ""]
    assert "may have reached" in plan.step_receipts()[0].error
    assert len(far_side.calls) == 1


def test_a_wait_puts_the_plan_down_and_costs_nothing(noted, bodies):
    def wait(_):
        bodies.clear()
        raise Wait(0, "not yet")

    plan = noted(2)
    bodies[1] = wait

    assert not plan.run()
    assert (plan.status, kinds(plan)) == ("approved", ["ok", ""])

    assert plan.run()
    assert effects(plan) == ["n0", "n1"]


def test_an_output_that_json_cannot_keep_fails_the_step_and_undoes_it(staff):
    def answer(args, context):
        Effect.objects.create(run=context.plan_id, name="x")
        return {1, 2}

    plans.action("odd")(answer)
    plan = plans.propose([("odd", {})])
    plan.approve(by=staff)

    assert not plan.run()

    assert (kinds(plan), effects(plan)) == (["failed"], [])


def test_a_step_knows_what_earlier_steps_returned(staff):
    plans.action("first")(lambda args, context: {"id": 41})
    plans.action("second")(lambda args, context: {"got": context.outputs[0]["id"] + 1})
    plan = plans.propose([("first", {}), ("second", {})])
    plan.approve(by=staff)

    assert plan.run()

    assert plan.step_receipts()[1].output == {"got": 42}


def test_the_database_holds_one_receipt_per_position(noted):
    plan = noted(1)
    plan.run()

    with pytest.raises(IntegrityError):
        plan.log.create(plan=plan, position=0, action="note", guarantee="", kind="ok", fence=1, owner="x")


def test_a_receipt_that_stands_in_the_way_takes_the_effect_with_it(noted, bodies):
    """B9: whatever happens to the receipt happens to the effect."""

    def intrude(context):
        Plan.objects.get(pk=context.plan_id).log.create(
            plan_id=context.plan_id,
            position=context.position,
            action="note",
            guarantee="",
            kind="ok",
            fence=9,
            owner="x",
        )

    plan = noted(2)
    bodies[0] = intrude

    assert not plan.run()

    assert effects(plan) == []
    assert plan.status == "failed"


@commits
def test_what_leaves_the_database_waits_for_the_commit(noted, bodies):
    """B18: on_commit of a failed step is dropped with its savepoint."""
    from django.db import transaction

    told = []
    plan = noted(2)
    bodies[0] = lambda _: transaction.on_commit(lambda: told.append("first"))

    def fails(_):
        transaction.on_commit(lambda: told.append("second"))
        raise Refused("no")

    bodies[1] = fails
    plan.run()

    assert told == ["first"]
