"""
Steps: a method that is also a column.

`@step` on a method of a Job adds a nullable timestamp column, `<name>_at`. The column is the step's receipt, the name its
identity: reorder steps, insert one, and runs half done go on by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, overload

from django.db import models

__all__ = ["GUARANTEES", "Step", "StepError", "step"]

#: What the author says of an effect outside the database, and what it means to an operator.
GUARANTEES: Final = {
    "keyed": "the other side takes our key and answers a repeat from its record",
    "idempotent": "repeating it changes nothing",
    "at-least-once": "a repeat may be seen by the outside world",
}


class StepError(TypeError):
    """A step was declared wrongly. Raised when the module is imported, with what to write instead."""


class Step:
    """One step of a Job. Made by `@step`; read by the job and by whoever shows receipts."""

    def __init__(
        self, body: Callable[..., Any], *, external: str | None, timeout: float | None, at: str | None
    ) -> None:
        self.body = body
        self.external = external
        self.timeout = timeout
        self.at = at
        self.name = body.__name__
        self.column = at or f"{self.name}_at"
        self.record_body: Callable[..., Any] | None = None
        self.__doc__ = body.__doc__
        self.__name__ = body.__name__

    def __repr__(self) -> str:
        return f"<step {self.name} ({self.guarantee})>"

    @property
    def guarantee(self) -> str:
        """What is promised of this step's effect, in the words of the receipt."""
        return self.external or "exactly once"

    def contribute_to_class(self, model: type[models.Model], name: str) -> None:
        """Django calls this when a model class is made: keep the step, and add its column unless the class has it."""
        if name != self.name and self.record_body is None:
            message = f"{model.__name__}.{name} is the step {self.name!r} under another name; a step has one name."
            raise StepError(message)
        setattr(model, name, self)
        if not any(field.name == self.column for field in model._meta.local_fields):
            model.add_to_class(self.column, models.DateTimeField(null=True, blank=True, editable=False))

    @overload
    def __get__(self, run: None, owner: Any = None) -> Step: ...
    @overload
    def __get__(self, run: Any, owner: Any = None) -> Callable[..., Any]: ...
    def __get__(self, run: Any, owner: Any = None) -> Any:
        # Called on an instance, a step is its plain body: no claim, no receipt. Good for a test of the body alone.
        return self if run is None else self.body.__get__(run, owner)

    def record(self, body: Callable[..., Any]) -> Any:
        """
        Register what is written in the receipt's transaction, with the result of the external call.

        The body takes (self, result) and may return own fields of the job like a step does. A step with a record may
        return anything; a dictionary of nothing but own fields is written as they are, and handed over too.
        """
        if self.external is None:
            message = (
                f"step {self.name!r} is a database step: its whole body already runs in the receipt's transaction. "
                f"Write there, or declare it @step(external=…)."
            )
            raise StepError(message)
        _refuse_coroutine(body)
        self.record_body = body
        # Written like a property's setter, the same name must go on meaning the step.
        return self if body.__name__ == self.name else body


@overload
def step(body: Callable[..., Any], /) -> Step: ...
@overload
def step(
    *, external: str | None = None, timeout: float | None = None, at: str | None = None
) -> Callable[[Callable[..., Any]], Step]: ...
def step(
    body: Callable[..., Any] | None = None,
    /,
    *,
    external: str | None = None,
    timeout: float | None = None,
    at: str | None = None,
) -> Any:
    """
    Declare a method of a Job to be a step.

    A plain `@step` is a database step: its body runs in one transaction with its receipt, on the job's own alias, so its
    effect there happens exactly once. With `external` the body runs outside any transaction, and the receipt follows in
    a transaction of its own: the effect happens at least once, and the word says what a repeat does.

    Args:
        external: "keyed", "idempotent" or "at-least-once"; there is no default, the author says which.
        timeout: seconds the body may take (default: the STEP_TIMEOUT setting, 5 minutes). After that the lease is no
            longer renewed and another worker may begin the step again.
        at: the name of the receipt column, where it is not `<name>_at`: what keeps a renamed step's receipts.

    The body may return a dictionary of the job's own fields; they are written in the UPDATE that stamps the step.

    Raises:
        StepError: at import, for anything that could not work.
    """
    if external is not None and external not in GUARANTEES:
        choices = ", ".join(repr(word) for word in GUARANTEES)
        message = f"@step(external={external!r}): say what a repeat does: {choices}. Without it, a database step."
        raise StepError(message)
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0):
        message = f"@step(timeout={timeout!r}): give seconds above 0, or leave it out."
        raise StepError(message)
    if at is not None and not (isinstance(at, str) and at.isidentifier()):
        message = f"@step(at={at!r}): give the name of the receipt's column."
        raise StepError(message)

    def declare(body: Callable[..., Any]) -> Step:
        if not inspect.isfunction(body):
            message = f"@step goes on a method, not on {body!r}. Put it outermost, above other decorators."
            raise StepError(message)
        _refuse_coroutine(body)
        return Step(body, external=external, timeout=timeout, at=at)

    return declare if body is None else declare(body)


def _refuse_coroutine(body: Callable[..., Any]) -> None:
    if inspect.iscoroutinefunction(body) or inspect.isasyncgenfunction(body) or inspect.isgeneratorfunction(body):
        message = (
            f"step {body.__qualname__!r} is a coroutine or a generator; its body would never run. "
            "Write a plain method; call async code with asgiref.sync.async_to_sync."
        )
        raise StepError(message)
