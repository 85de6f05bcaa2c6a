"""What could not work is refused when the module is imported, with what to write instead. S10"""

import functools

import pytest

from durable import step
from durable.steps import GUARANTEES, StepError


@pytest.mark.parametrize("word", ["exactly-once", "yes", "", True, "KEYED", 1])
def test_an_undeclared_guarantee_is_refused_with_the_choices(word):
    with pytest.raises(StepError, match="'keyed', 'idempotent', 'at-least-once'"):
        step(external=word)


@pytest.mark.parametrize("word", GUARANTEES)
def test_the_guarantee_is_in_the_words_of_the_receipt(word):
    @step(external=word)
    def call(self): ...

    assert call.guarantee == word


def test_a_database_step_promises_exactly_once_of_its_record():
    @step
    def note(self): ...

    assert (note.guarantee, note.external, note.column) == ("exactly once", None, "note_at")


def test_a_coroutine_step_is_refused():
    with pytest.raises(StepError, match="async_to_sync"):

        @step
        async def call(self): ...


def test_a_generator_step_is_refused():
    with pytest.raises(StepError, match="coroutine or a generator"):

        @step
        def call(self):
            yield


def test_a_coroutine_record_body_is_refused():
    @step(external="keyed")
    def call(self): ...

    with pytest.raises(StepError, match="coroutine"):

        @call.record
        async def keep(self, result): ...


def test_a_record_body_on_a_database_step_is_refused():
    @step
    def note(self): ...

    with pytest.raises(StepError, match="'note' is a database step"):

        @note.record
        def keep(self, result): ...


@pytest.mark.parametrize("timeout", [0, -1, "5", True])
def test_a_timeout_is_seconds_above_zero(timeout):
    with pytest.raises(StepError, match="timeout"):
        step(timeout=timeout)


@pytest.mark.parametrize("at", ["", "not a name", 7, "1st"])
def test_a_receipt_column_has_a_name(at):
    with pytest.raises(StepError, match="column"):
        step(at=at)


@pytest.mark.parametrize(
    "thing", [property(lambda self: 1), functools.partial(print), staticmethod(print), 7, object()]
)
def test_a_step_goes_on_a_method(thing):
    with pytest.raises(StepError, match="goes on a method"):
        step(thing)


def test_a_step_has_one_name():
    from django.test.utils import isolate_apps

    from durable.models import Job

    with isolate_apps("tests.app"), pytest.raises(StepError, match="one name"):

        class Twice(Job):
            @step
            def one(self): ...

            other = one

            class Meta(Job.Meta):
                app_label = "app"


def test_the_docstring_of_a_body_is_the_steps():
    @step
    def note(self):
        """Write it down."""

    assert (note.__doc__, note.__name__, repr(note)) == ("Write it down.", "note", "<step note (exactly once)>")
