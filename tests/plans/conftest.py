"""Actions for one test each, people who may decide, a far side with a call log, and workers in this process."""

import threading

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType

from durable import Refused, plans
from durable.models import Plan
from durable.runner import Reconciler
from durable.shutdown import Shutdown
from tests.app.models import Effect
from tests.factories import UserFactory

#: Real commits, in a project that has these apps alone.
commits = pytest.mark.django_db(
    transaction=True,
    available_apps=[
        "durable", "documents", "tests.app", "project.accounts", "django.contrib.auth", "django.contrib.contenttypes",
    ],
)  # fmt: skip


class FarSide:
    """An API: keeps (key, args) of every call, and answers as it is told."""

    def __init__(self):
        self.calls = []
        self.answers = []
        self.lock = threading.Lock()

    def __call__(self, args, context):
        with self.lock:
            self.calls.append((context.key, args))
            answer = self.answers.pop(0) if self.answers else {"handle": f"h{len(self.calls)}"}
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @property
    def keys(self):
        return [key for key, _ in self.calls]


@pytest.fixture(autouse=True)
def _clean_registry(settings):
    settings.DURABLE = {"LEASE": 5.0, "PLAN_LEASE": 5.0, "POLL": 0.05, "GRACE": 0.5}
    before = {action.name for action in plans.known()}
    yield
    for action in plans.known():
        if action.name not in before:
            plans.forget(action.name)


@pytest.fixture
def far_side():
    return FarSide()


@pytest.fixture
def bodies():
    """What `note` does by position, instead of succeeding: a function of the context."""
    return {}


@pytest.fixture
def note(bodies):
    """The database action: one Effect a call, then what the test says."""

    def run(args, context):
        Effect.objects.using(context.using).create(run=context.plan_id, name=args["text"])
        if context.position in bodies:
            bodies[context.position](context)
        return {"noted": args["text"]}

    plans.action("note", words="Note {text}", schema=NOTE)(run)
    return "note"


NOTE = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


@pytest.fixture
def call(far_side):
    """The external action."""
    plans.action("call", external="keyed", words="Call with {n}", risk="high")(far_side.__call__)
    return "call"


def may_approve(user):
    kind = ContentType.objects.get_for_model(Plan)
    user.user_permissions.add(Permission.objects.get_or_create(codename="approve_plan", content_type=kind)[0])
    return type(user).objects.get(pk=user.pk)


@pytest.fixture
def staff(db):
    """Somebody who may decide about plans."""
    return may_approve(UserFactory(username="grace", is_staff=True))


@pytest.fixture
def other(db):
    """Somebody else who may."""
    return may_approve(UserFactory(username="hedy", is_staff=True))


@pytest.fixture
def noted(note, staff):
    """A plan of three notes, approved. `noted(2)`: of two."""

    def make(steps=3, *, approved=True, **options):
        plan = plans.propose([(note, {"text": f"n{n}"}) for n in range(steps)], **options)
        if approved:
            assert plan.approve(by=staff)
        return plan

    return make


def effects(plan):
    return list(Effect.objects.filter(run=plan.pk).order_by("pk").values_list("name", flat=True))


def kinds(plan):
    return [receipt.kind for receipt in plan.step_receipts()]


def drain(threads=1):
    """One boot pass over plans."""
    reconciler = Reconciler([Plan], Shutdown(grace=0), threads=threads)
    reconciler.prepare()
    return reconciler.run_pass()


def take(plan, *, owner="somewhere/1"):
    """Claim one plan as another worker would; return (plan, claim)."""
    from durable.contract import Taking, claim

    taking = Taking(pk=plan.pk, also=Plan.can_carry_out())
    taken = claim(Plan, using="default", owner=owner, lease=5.0, taking=taking)
    return taken[0]


def refuse(_context):
    raise Refused("no such contact")
