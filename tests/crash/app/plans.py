"""Actions of the crash suite: as its jobs' steps, an effect in the database or a line in the ledger's file."""

from types import SimpleNamespace

from django.contrib.auth import get_user_model

from durable import plans

from .models import effect, outside


@plans.action("crash.ship", external="keyed")
def ship(args, context):
    outside(_run(context), "ship")
    return {"tracking": 7}


@plans.action("crash.bill")
def bill(args, context):
    effect(_run(context), "bill")


def start():
    """Propose and approve a plan of both."""
    plan = plans.propose([("crash.ship", {}), ("crash.bill", {})])
    assert plan.approve(by=staff())
    return plan


def resume(plan):
    """Be the person who looks at an interrupted plan and lets it go on. Return whether there was anything to decide."""
    return plan.status == "failed" and plan.cause == "interrupted" and bool(plan.resume(by=staff()))


def staff():
    return get_user_model().objects.get_or_create(username="staff", defaults={"is_superuser": True})[0]


def _run(context):
    return SimpleNamespace(pk=context.plan.pk, _state=context.plan._state, key=context.key)
