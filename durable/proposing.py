"""
Proposing: a plan is checked whole, with every issue told, then frozen as the approver will read it.

A compensation is proposed the same way, from the receipts of what really happened, in reverse.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, router, transaction
from django.utils.translation import gettext as _

from . import actions, deciding, payloads
from .clock import InSeconds
from .conf import setting
from .context import Context
from .durations import seconds_of
from .errors import DurableError, KeyConflict, NotProposed, Refused, text_of
from .freezing import digest_of, frozen
from .run import clean_text
from .verdicts import COMPENSATED, EXPIRED, OK, PENDING, PROPOSED, REJECTED, Issue, verb_word

__all__ = ["compensate", "propose"]

_LONGEST_TITLE = 200


def propose(
    model: Any,
    steps: Iterable[Any],
    *,
    by: Any,
    title: str,
    expires_in: float | timedelta | None,
    key: str | None,
    four_eyes: bool | None,
    using: str | None,
    more: dict[str, Any] | None = None,
    of: Sequence[int] = (),
) -> Any:
    """Record a plan; see `plans.propose`. `more` are further columns, `of` the positions that the steps take back."""
    alias = using or router.db_for_write(model)
    plan = model(title=title, status=PENDING, due_at=None, key=key, **(more or {}))
    plan._state.db = alias
    plan.four_eyes = bool(setting("PLAN_FOUR_EYES") if four_eyes is None else four_eyes)
    asked, issues = _asked(steps, title, key)
    if not issues:
        found = [_step(plan, position, pair, alias) for position, pair in enumerate(asked)]
        issues = [issue for _, some in found for issue in some]
        plan.steps = frozen([step for step, _ in found])
    if issues:
        raise NotProposed(issues)
    for step, position in zip(plan.steps, of, strict=False):
        step["of"] = position
    plan.proposer_id, plan.proposer = deciding._id_of(by), deciding._name_of(by)
    plan.risk = max((step["risk"] for step in plan.steps), key=actions.RISKS.index)
    plan.digest = digest_of(plan)
    plan.arguments = _arguments(plan)
    plan.expires_at = InSeconds(_seconds(expires_in))
    return _insert(plan, by, alias)


def compensate(plan: Any, *, by: Any, expires_in: float | timedelta | None) -> Any:
    """Propose what takes a plan's ok steps back, last first; see `Plan.compensate`."""
    deciding.may(plan, by)
    with transaction.atomic(using=plan._state.db):
        # Whoever has it go on holds the same lock: a plan goes on or is taken back, never both.
        list(plan._row().select_for_update().values("pk"))
        plan.refresh_from_db()
        return _compensate(plan, by, expires_in)


def _compensate(plan: Any, by: Any, expires_in: float | timedelta | None) -> Any:
    if plan.settled_at is None:
        message = _("%(plan)s is %(status)s; only what has ended can be compensated") % {
            "plan": plan, "status": verb_word(plan.status),
        }  # fmt: skip
        raise NotProposed([Issue(position=None, place="", message=message)])
    before = list(type(plan)._base_manager.using(plan._state.db).filter(compensates=plan).order_by("pk"))
    for one in before:
        one.heal()
        if one.settled_at is None:
            return one  # it waits, or runs, already
    done = {receipt.position: receipt for receipt in plan.log.using(plan._state.db).filter(kind=OK)}
    undone = {
        earlier.steps[receipt.position]["of"]
        for earlier in before if earlier.status not in (REJECTED, EXPIRED)
        for receipt in earlier.log.using(plan._state.db).filter(kind=OK)
    }  # fmt: skip
    left = [position for position in sorted(done, reverse=True) if position not in undone]
    able = [position for position in left if _undo_of(plan, done[position]) is not None]
    if not able:
        if not done:
            message = _("nothing of it can be taken back: no step happened")
        elif left:
            message = _("nothing of it can be taken back: what happened has no undo")
        else:
            message = _("nothing of it can be taken back: it is taken back already")
        raise NotProposed([Issue(position=None, place="", message=message)])
    steps = [_undo_of(plan, done[position]) for position in able]
    return propose(
        type(plan), steps, by=by, title=clean_text(f"Take back: {plan.title or plan.pk}", _LONGEST_TITLE),
        expires_in=expires_in, key=f"compensate:{plan.pk}:{len(before)}", four_eyes=plan.four_eyes, using=plan._state.db,
        more={"compensates": plan}, of=able,
    )  # fmt: skip


def _undo_of(plan: Any, receipt: Any) -> tuple[str, Any] | None:
    name = plan.steps[receipt.position]["undo"]
    args = receipt.output.get("undo") if isinstance(receipt.output, dict) else None
    return (name, args) if name and args is not None else None


def _asked(steps: Any, title: Any, key: Any) -> tuple[list[Any], list[Issue]]:
    """Return the steps as pairs, and what is wrong with the plan as a whole; nothing is read from a database for it."""
    whole: list[str] = []
    pairs = list(steps) if isinstance(steps, Iterable) and not isinstance(steps, str | bytes | dict) else []
    most = int(setting("PLAN_STEPS"))
    if not pairs:
        whole.append("it has no steps; give a list of (action, args)")
    elif len(pairs) > most:
        whole.append(f"it has {len(pairs)} steps, and {most} are the most (DURABLE['PLAN_STEPS'])")
    for value, what, longest in ((title, "a title", _LONGEST_TITLE), (key or "-", "a key", 200)):
        if not isinstance(value, str) or len(value) > longest:
            whole.append(f"{what} is a text of at most {longest} characters")
            continue
        try:
            payloads.check(value, what)
        except payloads.BadPayload as error:
            whole.append(str(error))
    return pairs, [Issue(position=None, place="", message=message) for message in whole]


def _step(plan: Any, position: int, pair: Any, alias: str) -> tuple[dict[str, Any], list[Issue]]:
    """Return one step as it is frozen, and every issue it has."""

    def refused(*faults: tuple[str, str]) -> tuple[dict[str, Any], list[Issue]]:
        return {}, [Issue(position=position, place=place, message=message) for place, message in faults]

    if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
        return refused(("", "a step is a pair: the name of an action, and its arguments"))
    name, args = pair
    action = actions.find(name)
    if action is None:
        known = ", ".join(one.name for one in actions.known()) or "none"
        return refused(("", f"there is no action {name!r:.120}; actions: {known:.500}"))
    try:
        payloads.check(args, "args")
    except payloads.BadPayload as error:
        return refused(("", str(error)))
    faults = action.schema.faults(args)
    if faults:
        return refused(*faults)
    args = frozen(args)
    try:
        context = Context(plan, position, using=alias)
        targets = [] if action.targets is None else list(action.targets(action.schema.build(args), context))
        for target in targets:
            payloads.check(target.version, f"the version of {target.name}")
    except (Refused, ObjectDoesNotExist, payloads.BadPayload) as error:
        return refused(("", text_of(error)))
    return {
        "action": name, "version": action.version, "args": args, "words": clean_text(action.told(args), 1_000),
        "external": action.external, "undo": action.undo, "risk": action.risk,
        "targets": [target.as_json() for target in targets],
    }, []  # fmt: skip


def _insert(plan: Any, by: Any, alias: str) -> Any:
    try:
        with transaction.atomic(using=alias):
            plan.save(using=alias, force_insert=True)
            deciding.record(plan, PROPOSED, by)
            if plan.compensates_id is not None:
                deciding.record(plan.compensates, COMPENSATED, by, f"proposed as {plan.pk}")
    except IntegrityError:
        if plan.key is None:
            raise
        before = type(plan)._base_manager.using(alias).filter(key=plan.key).first()
        if before is None:
            message = f"{plan.key!r} could neither be proposed nor found; try again"
            raise DurableError(message) from None
        if before.arguments != plan.arguments:
            message = f"the key {plan.key!r} was used for another plan: {before.pk}. One key names one plan."
            raise KeyConflict(message) from None
        return before
    plan.refresh_from_db()
    return plan


def _arguments(plan: Any) -> str:
    """Return what is compared when a key comes again: what was asked for, not what the targets were at by then."""
    asked = [[step["action"], step["args"]] for step in plan.steps]
    return json.dumps([plan.title, plan.four_eyes, plan.proposer_id, payloads.canonical(asked)], ensure_ascii=False)


def _seconds(expires_in: float | timedelta | None) -> float:
    if expires_in is None:
        return float(setting("PLAN_EXPIRES"))
    seconds = seconds_of(expires_in)
    if seconds is None or not seconds > 0:
        message = f"expires_in takes seconds, or a timedelta, above 0 and up to ten years, not {expires_in!r}"
        raise ValueError(message)
    return seconds
