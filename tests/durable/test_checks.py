"""Each system check by its id: the mistake, the line to change. S10"""

import pytest
from django.db import models
from django.test.utils import isolate_apps

from durable import Backoff, checks, step
from durable.models import Job

from .problems import named


@pytest.fixture
def problems_of():
    """Return what the checks say of one class."""

    def look(model) -> list:
        class Config:
            @staticmethod
            def get_models():
                return [model]

        return checks.check_jobs([Config])

    return look


@pytest.fixture(autouse=True)
def isolated():
    with isolate_apps("tests.app"):
        yield


def test_a_sound_job_has_no_problem(problems_of):
    class Sound(Job):
        account = models.IntegerField()
        retry = Backoff(base=1)
        one_in_flight = ["account"]
        retired_steps = ["long_gone"]

        @step
        def one(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    assert problems_of(Sound) == []


def test_durable_E010_a_step_on_a_plain_mixin(problems_of):
    class Mixin:
        @step
        def one(self): ...

    class Mixed(Mixin, Job):
        @step
        def two(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    problem = named(problems_of(Mixed), "durable.E010")

    assert "'one'" in problem.msg
    assert "Mixin" in problem.msg
    assert "abstract = True" in problem.hint


def test_a_step_on_an_abstract_job_is_no_problem(problems_of):
    class Base(Job):
        @step
        def one(self): ...

        class Meta(Job.Meta):
            abstract = True
            app_label = "app"

    class Child(Base):
        @step
        def two(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    assert problems_of(Child) == []
    assert list(Child.steps()) == ["one", "two"]


def test_durable_E011_two_steps_on_one_column(problems_of):
    class Shared(Job):
        @step(at="done_at")
        def one(self): ...

        @step(at="done_at")
        def two(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    problem = named(problems_of(Shared), "durable.E011")

    assert "one, two" in problem.msg
    assert "'done_at'" in problem.msg


def test_durable_E012_inherits_a_concrete_job(problems_of):
    class Concrete(Job):
        @step
        def one(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    class Child(Concrete):
        @step
        def two(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    problem = named(problems_of(Child), "durable.E012")

    assert "app.Concrete" in problem.msg
    assert "abstract" in problem.hint


@pytest.mark.parametrize("name", ["no_such_field", "fence"])
def test_durable_E013_one_in_flight_names_no_own_field(problems_of, name):
    class Flying(Job):
        one_in_flight = [name]

        @step
        def one(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    assert repr(name) in named(problems_of(Flying), "durable.E013").msg


@pytest.mark.parametrize("field", [models.DateTimeField(), models.BooleanField(default=False)])
def test_durable_E014_a_receipt_column_of_another_type(problems_of, field):
    class Typed(Job):
        one_at = field.clone()

        @step
        def one(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    assert "'one_at'" in named(problems_of(Typed), "durable.E014").msg


def test_a_receipt_column_may_be_declared_by_hand(problems_of):
    class Declared(Job):
        one_at = models.DateTimeField(null=True, editable=False, db_index=True)

        @step
        def one(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    assert problems_of(Declared) == []


@pytest.mark.parametrize("name", ["cancel", "receipts", "advance", "explain"])
def test_durable_E015_a_step_that_hides_a_name_of_job(problems_of, name):
    def body(self): ...

    body.__name__ = name
    meta = type("Meta", (Job.Meta,), {"app_label": "app", "abstract": False})
    hiding = type("Hiding", (Job,), {name: step(body), "Meta": meta, "__module__": __name__})

    assert repr(name) in named(problems_of(hiding), "durable.E015").msg


def test_durable_E016_a_retired_step_that_is_still_there(problems_of):
    class Retired(Job):
        retired_steps = ["one"]

        @step
        def one(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    assert "'one'" in named(problems_of(Retired), "durable.E016").msg


def test_durable_W010_a_job_without_a_step(problems_of):
    class Empty(Job):
        class Meta(Job.Meta):
            app_label = "app"

    assert "app.Empty" in named(problems_of(Empty), "durable.W010").msg


def test_durable_W011_a_manager_without_start(problems_of):
    class Managed(Job):
        objects = models.Manager()

        @step
        def one(self): ...

        class Meta(Job.Meta):
            app_label = "app"

    assert "objects.start()" in named(problems_of(Managed), "durable.W011").msg
