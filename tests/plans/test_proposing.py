"""A plan is checked whole before it is recorded, every issue is told, and it is frozen as the approver reads it. S10"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from durable import KeyConflict, Refused, payloads, plans
from durable.freezing import digest_of, frozen
from durable.models import Plan
from durable.schemas import Schema
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@dataclass
class Line:
    sku: str
    count: int


@dataclass
class Order:
    id: int
    name: Annotated[str, {"minLength": 1, "maxLength": 20}]
    how: Literal["fast", "slow"] = "slow"
    lines: list[Line] | None = None


def test_every_issue_is_told_and_nothing_is_recorded(note):
    def gone(args, context):
        raise Refused("there is no contact 9")

    plans.action("rename", targets=gone)(lambda args, context: None)

    with pytest.raises(plans.NotProposed) as refused:
        plans.propose([(note, {"text": 7, "more": 1}), ("fly", {}), ("rename", {}), (note, {"text": "\x00"}), "note"])

    assert [(issue.position, issue.place) for issue in refused.value.issues] == [
        (0, "args"), (0, "args['text']"), (1, ""), (2, ""), (3, ""), (4, ""),
    ]  # fmt: skip
    told = str(refused.value)
    for part in ("'more' was unexpected", "not of type 'string'", "no action 'fly'", "no contact 9", "NUL", "pair"):
        assert part in told
    assert not Plan.objects.exists()


@pytest.mark.parametrize("steps", [[], None, "note", {}])
def test_a_plan_without_steps_is_refused(steps):
    with pytest.raises(plans.NotProposed, match="no steps"):
        plans.propose(steps)


def test_too_many_steps_are_refused_before_anything_is_read(note, settings, django_assert_num_queries):
    settings.DURABLE = {"PLAN_STEPS": 3}

    with django_assert_num_queries(0), pytest.raises(plans.NotProposed, match="4 steps, and 3 are the most"):
        plans.propose([(note, {"text": "x"})] * 4)


@pytest.mark.parametrize("title", ["x" * 201, "\ud800", 7])
def test_a_title_that_cannot_be_kept_is_an_issue(note, title):
    with pytest.raises(plans.NotProposed, match="title"):
        plans.propose([(note, {"text": "x"})], title=title)


def test_a_dataclass_is_a_schema_and_the_action_gets_an_instance(staff):
    seen = []
    plans.action("order", schema=Order)(lambda args, context: seen.append(args))
    plan = plans.propose([("order", {"id": 7.0, "name": "Ada", "lines": [{"sku": "a", "count": 2}]})])
    plan.approve(by=staff)

    assert plan.run()

    assert seen == [Order(id=7, name="Ada", lines=[Line(sku="a", count=2)])]


@pytest.mark.parametrize(
    ("args", "place"),
    [
        ({"name": "Ada"}, "args"),
        ({"id": "7", "name": "Ada"}, "args['id']"),
        ({"id": True, "name": "Ada"}, "args['id']"),
        ({"id": 7, "name": ""}, "args['name']"),
        ({"id": 7, "name": "Ada", "how": "no"}, "args['how']"),
        ({"id": 7, "name": "Ada", "lines": [{"sku": "a"}]}, "args['lines']"),
        ({"id": 7, "name": "Ada", "colour": "red"}, "args"),
        (["id"], "args"),
    ],
)
def test_arguments_that_do_not_fit_are_told_with_their_place(args, place):
    assert [found for found, _ in Schema(Order).faults(args)] == [place]


@pytest.mark.parametrize("schema", [{"type": "objekt"}, {"$ref": 7}, 7, "x", Refused])
def test_a_schema_that_is_none_is_refused_at_import(schema):
    with pytest.raises(plans.ActionError, match="bad"):
        plans.action("bad", schema=schema)


def test_a_dataclass_with_a_type_json_lacks_is_refused_at_import():
    @dataclass
    class Dated:
        at: timedelta

    with pytest.raises(plans.ActionError, match=r"Dated\.at .* send dates and ids as text"):
        plans.action("dated", schema=Dated)


def test_a_schema_fetches_nothing_from_anywhere():
    from referencing.exceptions import Unresolvable

    with pytest.raises(Exception) as refused:
        Schema({"$ref": "http://127.0.0.1:9/schema.json"}).faults({})

    assert isinstance(refused.value, Unresolvable) or "Unresolvable" in repr(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"external": "yes"}, "'keyed', 'idempotent', 'at-least-once'"),
        ({"risk": "none"}, "low, medium, high"),
        ({"version": 0}, "from 1 up"),
        ({"version": True}, "from 1 up"),
        ({"timeout": 0}, "seconds above 0"),
    ],
)
def test_a_wrong_declaration_is_refused_at_import(options, said):
    with pytest.raises(plans.ActionError, match=said):
        plans.action("bad", **options)


@pytest.mark.parametrize("name", ["", "x" * 101, None, "a\x00"])
def test_a_name_is_a_short_text(name):
    with pytest.raises(plans.ActionError, match="1 to 100 characters"):
        plans.action(name)


def test_two_actions_of_one_name_and_a_coroutine_are_refused(note):
    with pytest.raises(plans.ActionError, match="two actions 'note'"):

        @plans.action("note")
        def other(args, context): ...

    with pytest.raises(plans.ActionError, match="async_to_sync"):

        @plans.action("later")
        async def later(args, context): ...


def test_durable_E020_an_undo_that_is_no_action_is_told_at_start_up():
    from durable.checks import check_actions

    plans.action("do", undo="undo.it")(lambda args, context: None)

    (found,) = check_actions()

    assert (found.id, "'undo.it'" in found.msg) == ("durable.E020", True)


def test_the_approver_reads_steps_in_words_with_their_risk(note, call):
    plan = plans.propose([(note, {"text": "milk"}), (call, {"n": 3})])

    assert [step["words"] for step in plan.steps] == ["Note milk", "Call with 3"]
    assert [step["risk"] for step in plan.steps] == ["medium", "high"]
    assert plan.risk == "high"


def test_words_may_be_a_function_and_may_miss_an_argument():
    plans.action("a", words=lambda args: f"{len(args)} things")(lambda args, context: None)
    plans.action("b", words="Set {colour}")(lambda args, context: None)

    plan = plans.propose([("a", {"x": 1}), ("b", {})])

    assert [step["words"] for step in plan.steps] == ["1 things", "Set –"]


def test_the_same_key_and_plan_is_the_same_plan_and_another_is_an_error(note):
    first = plans.propose([(note, {"text": "x"})], key="tidy", title="Tidy")

    assert plans.propose([(note, {"text": "x"})], key="tidy", title="Tidy").pk == first.pk
    with pytest.raises(KeyConflict, match="tidy"):
        plans.propose([(note, {"text": "y"})], key="tidy", title="Tidy")
    assert Plan.objects.count() == 1


def test_a_proposal_records_who_and_until_when(note):
    user = UserFactory(username="ada")

    plan = plans.propose([(note, {"text": "x"})], by=user, expires_in=timedelta(minutes=2))

    assert (plan.status, plan.proposer, plan.due_at) == ("pending", "ada", None)
    assert 119 < (plan.expires_at - plan.created_at).total_seconds() < 121
    assert plan.decisions.get().verb == "proposed"


@pytest.mark.parametrize("seconds", [0, -1, True, "1", float("nan")])
def test_an_expiry_that_is_no_time_is_refused(note, seconds):
    with pytest.raises(ValueError, match="expires_in takes seconds"):
        plans.propose([(note, {"text": "x"})], expires_in=seconds)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(args=st.dictionaries(st.text("abé-", max_size=5), JSON, max_size=4))
def test_a_digest_survives_the_database_whatever_the_arguments(args):
    if plans.find("any") is None:
        plans.action("any")(_nothing)

    plan = plans.propose([("any", args)])

    stored = Plan.objects.get(pk=plan.pk)
    assert digest_of(stored) == stored.digest
    assert payloads.canonical(stored.steps[0]["args"]) == payloads.canonical(frozen(args))


def _nothing(args: Any, context: Any) -> None:
    return None


def test_a_digest_survives_the_process(note):
    import subprocess
    import sys

    plan = plans.propose([(note, {"text": "é"})], title="Ünïcode")
    code = (
        "import json, sys; from types import SimpleNamespace; from durable.freezing import digest_of;"
        "print(digest_of(SimpleNamespace(**json.load(sys.stdin))))"
    )
    told = {"pk": str(plan.pk), "title": plan.title, "four_eyes": plan.four_eyes, "steps": plan.steps}
    import json

    answer = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(told), capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ".", "PYTHONHASHSEED": "77"},
    )  # fmt: skip

    assert answer.stdout.strip() == plan.digest


def test_nothing_of_a_frozen_plan_can_change_without_its_digest(note, call):
    plan = plans.propose([(note, {"text": "a"}), (call, {"n": 1})], title="t")
    digests = {plan.digest}
    for place, value in (("action", "x"), ("version", 2), ("args", {}), ("words", "w"), ("external", "keyed"),
                         ("undo", "u"), ("risk", "low"), ("targets", [1])):  # fmt: skip
        changed = Plan.objects.get(pk=plan.pk)
        changed.steps[0][place] = value
        digests.add(digest_of(changed))
    for name, value in (("title", "u"), ("four_eyes", True), ("steps", plan.steps[::-1]), ("steps", plan.steps[:1])):
        changed = Plan.objects.get(pk=plan.pk)
        setattr(changed, name, value)
        digests.add(digest_of(changed))
    other = plans.propose([(note, {"text": "a"}), (call, {"n": 1})], title="t")

    assert len({*digests, other.digest}) == 14
