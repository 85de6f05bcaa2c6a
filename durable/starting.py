"""
Starting: one INSERT that either makes the run or finds the one there is, without hurting the caller's transaction.

`ON CONFLICT DO NOTHING` instead of catching an IntegrityError: caught inside a transaction, that error leaves it broken.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from django.db import IntegrityError, router, transaction

from . import waking
from .attempt import attempt
from .conf import setting
from .contract import Claim
from .effects import outside_transaction
from .errors import AlreadyInFlight, InsideTransaction, KeyConflict
from .inserting import insert
from .owner import current
from .run import canonical, storable

__all__ = ["boarding", "landing", "no_other_in_flight", "start", "start_and_run"]


def start(model: type[Any], alias: str | None, key: str | None, fields: dict[str, Any]) -> Any:
    """Record the run, or return the one that was started under this key. See `JobManager.start`."""
    # Where the one in the way is gone when we look for it, its transaction rolled back: insert again. The last time the
    # database may raise: what is in the way then is a constraint of the job's own.
    for on_conflict in ("DO NOTHING", "DO NOTHING", "DO NOTHING", ""):
        run = _new(model, key, fields)
        using = alias or router.db_for_write(model, instance=run)
        if _record(run, using, lease=None, on_conflict=on_conflict):
            waking.ring_after_commit(using)
            return run
        found = _existing(model, using, run)
        if found is not None:
            return found
    raise AssertionError  # pragma: no cover - without ON CONFLICT it is inserted, or the database raises


def start_and_run(model: type[Any], alias: str | None, key: str | None, fields: dict[str, Any]) -> Any:
    """Record the run as claimed by this thread and carry it out. See `JobManager.run`."""
    run = _new(model, key, fields)
    using = alias or router.db_for_write(model, instance=run)
    if not outside_transaction(using):
        message = (
            f"{model.__name__}.objects.run() was called inside a transaction, so its receipts could vanish with it. "
            "Call objects.start() here and run() after the transaction, or let `manage.py reconcile` do it."
        )
        raise InsideTransaction(message)
    lease = float(setting("LEASE"))
    run.status, run.fence, run.attempts, run.owner = run.MACHINE.claimed, 1, 1, str(current())
    claim = Claim(model, using=using, pk=run.pk, fence=run.fence, owner=run.owner, lease=lease)
    stepping = run.stepping(claim)
    try:
        made = _record(run, using, lease=lease, ahead=stepping.begin_ahead)
        if made:
            attempt(run, claim)
    finally:
        stepping.put_down()
    if not made:
        run = start(model, using, key, fields)
        run.run()
        return run
    run.forget_contract()
    return run


def boarding(run: Any) -> dict[str, Any]:
    """Return what an open run writes to hold its place in flight."""
    return {"flight": _flight(run)} if run.one_in_flight else {}


def landing(model: type[Any]) -> dict[str, Any]:
    """Return what a settlement writes to free that place."""
    return {"flight": None} if model.one_in_flight else {}


@contextlib.contextmanager
def no_other_in_flight(run: Any) -> Iterator[None]:
    """Turn a place that is taken into `AlreadyInFlight`, with the caller's transaction unhurt."""
    if not run.one_in_flight:
        yield
        return
    try:
        with transaction.atomic(using=run._state.db):
            yield
    except IntegrityError as error:
        other = type(run)._base_manager.using(run._state.db).filter(flight=_flight(run)).first()
        if other is None:
            raise
        raise _in_flight(run, other) from error


def _new(model: type[Any], key: str | None, fields: dict[str, Any]) -> Any:
    guarded = sorted(model.contract_columns() & fields.keys())
    if guarded:
        message = f"{model.__name__}.objects.start() takes the job's own fields; {', '.join(guarded)} is the contract's"
        raise TypeError(message)
    if key is not None and not (isinstance(key, str) and 0 < len(key) <= 200 and storable(key) == key):
        message = f"a key is a text of 1 to 200 characters, not {key!r:.80}"
        raise ValueError(message)
    run = model(key=key, **fields)
    run.arguments = canonical(run, fields) if key is not None else None
    run.step_names = model.names_of_steps()
    if model.one_in_flight:
        run.flight = _flight(run)
    return run


def _record(run: Any, using: str, lease: float | None, on_conflict: str = "DO NOTHING", ahead: Any = None) -> bool:
    if type(run).on_start is _nothing(type(run)):
        return insert(run, using, lease=lease, on_conflict=on_conflict, ahead=ahead)
    with transaction.atomic(using=using):
        made = insert(run, using, lease=lease, on_conflict=on_conflict)
        if made:
            run.on_start()
    return made


def _nothing(model: type[Any]) -> Any:
    """Return the `on_start` that does nothing: the one of the class that declared it first."""
    return next(vars(parent)["on_start"] for parent in reversed(model.__mro__) if "on_start" in vars(parent))


def _existing(model: type[Any], using: str, run: Any) -> Any:
    """Return the run that has this key; None where nothing is in the way any more."""
    rows = model._base_manager.using(using)
    found = rows.filter(key=run.key).first() if run.key is not None else None
    if found is not None:
        if found.arguments is not None and found.arguments != run.arguments:
            raise KeyConflict(_two_sets_of_arguments(found, run))
        return found
    other = rows.filter(flight=run.flight).first() if model.one_in_flight else None
    if other is not None:
        raise _in_flight(run, other)
    return None


def _two_sets_of_arguments(found: Any, run: Any) -> str:
    before, now = json.loads(found.arguments), json.loads(run.arguments)
    differing = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    told = "; ".join(f"{name} was {before.get(name)!r:.80}, now {now.get(name)!r:.80}" for name in differing)
    return (
        f"{type(run).__name__} with key {run.key!r} was started with other arguments ({told}). "
        "One key names one operation: use another key, or the same arguments."
    )


def _in_flight(run: Any, other: Any) -> AlreadyInFlight:
    held = ", ".join(f"{name}={getattr(run, name)!r}" for name in run.one_in_flight)
    message = (
        f"{type(run).__name__} for {held} is already in flight: {other} is {other.status}. Wait for it, or cancel it."
    )
    return AlreadyInFlight(message, other)


def _flight(run: Any) -> str:
    values = {}
    for name in run.one_in_flight:
        field = run._meta.get_field(name)
        values[field.attname] = field.value_to_string(run)
    text = json.dumps(values, sort_keys=True, default=str)
    # Cut off, two long values would be one place.
    return text if len(text) <= 200 else hashlib.sha256(text.encode()).hexdigest()
