"""
System checks: a mistake in a declaration is told at start-up, with the line to change, not by a run at night.

Errors (durable.E…) are things that cannot work; warnings (durable.W…) are things that will surprise. None of them touches
the database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core import checks
from django.db import models

from . import actions, conf, kinds
from .jobs import Job, JobManager
from .run import Run
from .steps import Step

__all__ = ["check_actions", "check_jobs", "check_settings"]

#: Names of Run and Job that a step of the same name would silently replace.
_TAKEN = {name for name in {*dir(Job), *dir(Run)} if not name.startswith("_")}


@checks.register("durable")
def check_settings(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[checks.CheckMessage]:
    """E001 a mistake in DURABLE · E002 times without a zone · E003 an unsupported database · W001 SQLite may say locked."""
    found: list[checks.CheckMessage] = [
        checks.Error(what, hint=hint, id="durable.E001") for what, hint in conf.problems()
    ]
    if not settings.USE_TZ:
        hint = "Set USE_TZ = True: without it a lease jumps by an hour when the clocks change."
        found.append(checks.Error("durable needs aware times, and USE_TZ is False.", hint=hint, id="durable.E002"))
    for alias in sorted({kinds.alias_of(model) for model in kinds.registered()}):
        database = settings.DATABASES.get(alias, {})
        engine = database.get("ENGINE", "")
        if "postg" not in engine and "sqlite" not in engine:
            hint = "PostgreSQL is the database durable promises to work on; SQLite serves one box."
            message = f"Runs are written to {alias!r}, whose engine {engine!r} durable does not know."
            found.append(checks.Error(message, hint=hint, id="durable.E003"))
        elif "sqlite" in engine and database.get("OPTIONS", {}).get("transaction_mode", "").upper() != "IMMEDIATE":
            hint = f"DATABASES[{alias!r}]['OPTIONS'] = {{'transaction_mode': 'IMMEDIATE', 'timeout': 20}}"
            message = f"Runs are written to the SQLite database {alias!r}, whose transactions may end in 'database is locked'."
            found.append(checks.Warning(message, hint=hint, id="durable.W001"))
    return found


@checks.register("durable")
def check_actions(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[checks.CheckMessage]:
    """E020 an action of plans names an undo that this code does not have."""
    return [
        checks.Error(
            f"The action {action.name!r} ({action.place}) is taken back by {action.undo!r}, which is not an action.",
            hint=f"Register @plans.action({action.undo!r}) in a module that is imported at start-up, or leave undo out.",
            id="durable.E020",
        )
        for action in actions.known()
        if action.undo and actions.find(action.undo) is None
    ]


@checks.register("durable")
def check_jobs(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[checks.CheckMessage]:
    """Check each job class of those apps, or of the project: E010–E016, W010–W011."""
    configs = apps.get_app_configs() if app_configs is None else app_configs
    models_of_them = [model for config in configs for model in config.get_models()]
    return [problem for model in models_of_them if issubclass(model, Job) for problem in _check(model)]


def _check(model: type[Job]) -> Iterator[checks.CheckMessage]:
    for look in (_mixins, _shared_columns, _parents, _flight, _receipts, _names, _retired, _manager):
        yield from look(model)


def _mixins(model: type[Job]) -> Iterator[checks.CheckMessage]:
    label = model._meta.label
    for parent in model.__mro__:
        if isinstance(parent, models.base.ModelBase):
            continue
        for name, value in vars(parent).items():
            if isinstance(value, Step):
                yield checks.Error(
                    f"{label}: the step {name!r} stands on {parent.__qualname__}, which is not a model, so it has no column.",
                    hint=f"Make it `class {parent.__name__}(Job)` with `abstract = True` in its Meta.",
                    obj=model,
                    id="durable.E010",
                )


def _shared_columns(model: type[Job]) -> Iterator[checks.CheckMessage]:
    label, steps = model._meta.label, model.steps()
    for column, count in Counter(step.column for step in steps.values()).items():
        if count > 1:
            names = ", ".join(sorted(step.name for step in steps.values() if step.column == column))
            yield checks.Error(
                f"{label}: the steps {names} have one receipt column, {column!r}.",
                hint="Give each its own with @step(at=…).",
                obj=model,
                id="durable.E011",
            )


def _parents(model: type[Job]) -> Iterator[checks.CheckMessage]:
    label = model._meta.label
    for concrete in model._meta.parents:
        if issubclass(concrete, Job):
            yield checks.Error(
                f"{label} inherits the concrete job {concrete._meta.label}: its receipts would lie in two tables.",
                hint=f"Make {concrete.__name__} abstract, or repeat its steps.",
                obj=model,
                id="durable.E012",
            )


def _flight(model: type[Job]) -> Iterator[checks.CheckMessage]:
    label = model._meta.label
    own = {field.name for field in model._meta.concrete_fields} - model.contract_columns()
    for name in model.one_in_flight:
        if name not in own:
            yield checks.Error(
                f"{label}: one_in_flight names {name!r}, which is not one of the job's own fields.",
                hint=f"Own fields: {', '.join(sorted(own)) or 'none'}.",
                obj=model,
                id="durable.E013",
            )


def _receipts(model: type[Job]) -> Iterator[checks.CheckMessage]:
    label, steps = model._meta.label, model.steps()
    columns = {field.name: field for field in model._meta.concrete_fields}
    for step in steps.values():
        field = columns.get(step.column)
        if not isinstance(field, models.DateTimeField) or not field.null:
            yield checks.Error(
                f"{label}: {step.column!r}, the receipt of step {step.name!r}, is not a nullable DateTimeField.",
                hint="Leave the field out, and the step adds it; or declare DateTimeField(null=True, editable=False).",
                obj=model,
                id="durable.E014",
            )


def _names(model: type[Job]) -> Iterator[checks.CheckMessage]:
    label, steps = model._meta.label, model.steps()
    if not steps:
        yield checks.Warning(f"{label} has no step.", hint="Add a method with @step.", obj=model, id="durable.W010")
    for step in steps.values():
        if step.name in _TAKEN:
            yield checks.Error(
                f"{label}: the step {step.name!r} hides {step.name!r} of Job, which the machinery needs.",
                hint="Name the step after what it does, with an object: cancel_subscription.",
                obj=model,
                id="durable.E015",
            )


def _retired(model: type[Job]) -> Iterator[checks.CheckMessage]:
    label, steps = model._meta.label, model.steps()
    for name in model.retired_steps:
        if name in steps:
            yield checks.Error(
                f"{label}: retired_steps names {name!r}, which is still a step.",
                hint="Take it out of retired_steps, or remove the step.",
                obj=model,
                id="durable.E016",
            )


def _manager(model: type[Job]) -> Iterator[checks.CheckMessage]:
    label = model._meta.label
    if not isinstance(getattr(model, "objects", None), JobManager):
        yield checks.Warning(
            f"{label}.objects is not a JobManager, so objects.start() is missing.",
            hint="Derive your manager from durable.models.JobManager.",
            obj=model,
            id="durable.W011",
        )
