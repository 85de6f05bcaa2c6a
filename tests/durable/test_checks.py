"""Each system check by its id: the mistake, the line to change. S10"""

import pytest
from django.conf import settings
from django.core.checks import Error
from django.core.checks import Warning as Surprise
from django.db import models
from django.test import override_settings
from django.test.utils import isolate_apps

from durable import Backoff, checks, step
from durable.models import Job


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


def named(problems, ident: str):
    [problem] = [problem for problem in problems if problem.id == ident]
    assert problem.hint
    assert isinstance(problem, Error if ident[8] == "E" else Surprise)
    return problem


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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"LAESE": 60}, "'LAESE'"),
        ({"LEASE": "60"}, "DURABLE['LEASE'] is '60'"),
        ({"LEASE": 0}, "DURABLE['LEASE'] is 0"),
        ({"POLL": True}, "DURABLE['POLL'] is True"),
        ({"THREADS": 1.5}, "DURABLE['THREADS'] is 1.5"),
        ({"MAX_LOSSES": -1}, "DURABLE['MAX_LOSSES'] is -1"),
        ({"GRACE": float("nan")}, "DURABLE['GRACE'] is nan"),
        ([], "DURABLE is a list"),
        (None, "DURABLE is a NoneType"),
    ],
)
def test_durable_E001_a_mistake_in_the_setting(given, said):
    with override_settings(DURABLE=given):
        assert said in named(checks.check_settings(), "durable.E001").msg


def test_durable_E001_names_the_known_keys():
    with override_settings(DURABLE={"LAESE": 60}):
        assert "LEASE" in named(checks.check_settings(), "durable.E001").hint


def test_durable_E002_times_without_a_zone():
    with override_settings(USE_TZ=False):
        assert "USE_TZ" in named(checks.check_settings(), "durable.E002").hint


def test_durable_E003_a_database_it_does_not_know(monkeypatch):
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.mysql")

    assert "django.db.backends.mysql" in named(checks.check_settings(), "durable.E003").msg


def test_durable_W001_sqlite_that_may_say_locked(monkeypatch):
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")
    monkeypatch.setitem(settings.DATABASES["default"], "OPTIONS", {})

    assert "transaction_mode" in named(checks.check_settings(), "durable.W001").hint


def test_the_suites_own_settings_have_no_problem():
    assert checks.check_settings() == []
