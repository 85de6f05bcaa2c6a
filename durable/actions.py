"""
Actions: what a plan may consist of, and what each of them needs, changes and promises.

An action is registered when its module is imported: `plans.py` in any installed app. A plan names its actions only; code
that lacks one, or has another version of it, does not execute the plan.
"""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from .schemas import Schema, SchemaError
from .steps import GUARANTEES
from .verdicts import Target

__all__ = ["RISKS", "Action", "ActionError", "action", "find", "forget", "known"]

F = TypeVar("F", bound=Callable[..., Any])

RISKS = ("low", "medium", "high")

_LONGEST_NAME = 100
_actions: dict[str, Action] = {}


class ActionError(TypeError):
    """An action was declared wrongly. Raised when the module is imported, with what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What this code does for one name."""

    name: str
    run: Callable[..., Any]
    schema: Schema
    permission: str  # who approves a plan with it needs this one too; empty: none beyond the plan's own
    external: str | None  # what a repeat does: a word of GUARANTEES; None: it happens in the database
    undo: str  # the action that takes it back; empty: nothing does
    risk: str
    words: str | Callable[[Any], str]
    targets: Callable[..., Iterable[Target]] | None
    version: int
    timeout: float | None  # seconds; None: the STEP_TIMEOUT setting

    @property
    def place(self) -> str:
        """Where it stands in the code, for people."""
        return f"{self.run.__module__}.{self.run.__qualname__}"

    @property
    def guarantee(self) -> str:
        """The promise in the words of a receipt."""
        return self.external or "exactly once"

    def told(self, args: dict[str, Any]) -> str:
        """Return one step of it in words, for who approves it."""
        if callable(self.words):
            return str(self.words(args))
        return _Filled().vformat(str(self.words), (), args) if self.words else f"{self.name} {args}"


def action(
    name: str,
    *,
    schema: Any = None,
    permission: str = "",
    external: str | None = None,
    undo: str = "",
    risk: str = "medium",
    words: str | Callable[[Any], str] = "",
    targets: Callable[..., Iterable[Target]] | None = None,
    version: int = 1,
    timeout: float | None = None,
) -> Callable[[F], F]:
    """
    Register the function that carries out one kind of step.

        @plans.action("contact.rename", schema=Rename, undo="contact.rename", words="Rename contact {id} to {name}")
        def rename(args, context): ...

    It is called with the arguments (an instance, where the schema is a dataclass) and a `Context`, and returns JSON that is
    kept on the receipt. A database action runs in the transaction of its receipt. It raises `Refused("for people")` to
    fail, `TargetMoved` where something is not as the approver saw it; whatever else it raises fails the step too, and only
    staff are shown its text.

    Args:
        name: 1 to 100 characters; what a plan names.
        schema: a dataclass, or a JSON Schema as a dictionary.
        permission: what who approves needs beyond `durable.approve_plan`, then and when the plan is executed.
        external: for an action that reaches outside the database: "keyed", "idempotent" or "at-least-once". It is called
            outside any transaction, with `context.key`.
        undo: the action that takes it back. Its arguments are `output["undo"]`, as this one returned them.
        risk: "low", "medium" or "high", for who decides.
        words: the step as a person reads it: a format string over the arguments, or a function of them.
        targets: given arguments and a context, returns the `Target`s a step will change, at their present versions; called
            at the proposal, before the step and after it. `Refused` at the proposal is an issue of the plan.
        version: raise it when the same arguments come to mean something else. Plans of another version are refused.
        timeout: seconds a step may take (default: the STEP_TIMEOUT setting).

    Raises:
        ActionError: at import, for anything that could not work, or a second action of that name.
    """
    _refuse_mistakes(name, external, risk, version, timeout)
    try:
        checked = schema if isinstance(schema, Schema) else Schema(schema)
    except SchemaError as error:
        message = f"@plans.action({name!r}): {error}"
        raise ActionError(message) from error

    def register(run: F) -> F:
        if not callable(run) or inspect.iscoroutinefunction(run) or inspect.isgeneratorfunction(run):
            message = (
                f"the action {name!r} must be a plain function of (args, context), not {run!r}. "
                "Call async code with asgiref.sync.async_to_sync."
            )
            raise ActionError(message)
        made = Action(
            name=name, run=run, schema=checked, permission=permission, external=external, undo=undo, risk=risk,
            words=words, targets=targets, version=version, timeout=timeout,
        )  # fmt: skip
        before = _actions.get(name)
        if before is not None and before.place != made.place:
            message = f"there are two actions {name!r}: {before.place} and {made.place}. Rename one."
            raise ActionError(message)
        _actions[name] = made
        return run

    return register


def find(name: str) -> Action | None:
    """Return the action of that name, or None where this code has none."""
    return _actions.get(name)


def known() -> list[Action]:
    """Return every action of this code, by name."""
    return [_actions[name] for name in sorted(_actions)]


def forget(name: str) -> None:
    """Take an action away. For tests: plans with it wait, as they do when a deploy drops it."""
    _actions.pop(name, None)


class _Filled(string.Formatter):
    """Fills in what there is: an argument that may be left out must not keep a step from being told."""

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        return kwargs.get(key, "–")


def _refuse_mistakes(name: Any, external: Any, risk: Any, version: Any, timeout: Any) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or "\x00" in name:
        message = f"an action's name is a text of 1 to {_LONGEST_NAME} characters, not {name!r:.120}"
        raise ActionError(message)
    if external is not None and external not in GUARANTEES:
        words = ", ".join(repr(word) for word in GUARANTEES)
        message = f"@plans.action({name!r}, external={external!r}): say what a repeat does: {words}."
        raise ActionError(message)
    if risk not in RISKS:
        message = f"@plans.action({name!r}, risk={risk!r}): give one of {', '.join(RISKS)}."
        raise ActionError(message)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        message = f"@plans.action({name!r}, version={version!r}): give a whole number from 1 up."
        raise ActionError(message)
    if timeout is not None and (
        isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < 1e9
    ):
        message = f"@plans.action({name!r}, timeout={timeout!r}): give seconds above 0, or leave it out."
        raise ActionError(message)
