"""
Deciding: who may approve, reject or resume a plan; each decision is one conditional UPDATE, recorded with it, made once.

The loser of a race is told who decided, and when. What a person approves is the plan as they read it: its digest stands in
the UPDATE's WHERE, beside the expiry by the database's clock.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from . import actions, waking
from .clock import InSeconds
from .conf import setting
from .contract import transition
from .errors import NotAllowed
from .freezing import digest_of
from .run import clean_text
from .verdicts import (
    APPROVED,
    EXPIRED,
    FAILED,
    INTERRUPTED,
    PENDING,
    PERMISSION,
    REJECTED,
    RESUMED,
    Ruling,
    verb_word,
)

__all__ = ["approve", "may", "record", "reject", "resume", "taken_back_by"]


def approve(plan: Any, by: Any) -> Ruling:
    """Approve the plan as this instance shows it. See `Plan.approve`."""
    may(plan, by, to_grant=True)
    rows = plan._row().filter(digest=digest_of(plan), expires_at__gt=Now())
    if plan.four_eyes:
        rows = rows.exclude(proposer_id=_id_of(by))
    return _decide(plan, rows, PENDING, APPROVED, APPROVED, by, "", {})


def reject(plan: Any, by: Any, reason: str) -> Ruling:
    """Reject it. See `Plan.reject`."""
    may(plan, by)
    said = {"last_error": clean_text(f"rejected by {_name_of(by)}{': ' if reason else ''}{reason}", 2_000)}
    return _decide(plan, plan._row(), PENDING, REJECTED, REJECTED, by, reason, said)


def resume(plan: Any, by: Any, reason: str) -> Ruling:
    """Let an interrupted plan go on at its first step without a receipt. See `Plan.resume`."""
    may(plan, by, to_grant=True)
    fresh: dict[str, Any] = {
        "cause": "", "last_error": "", "attempts": 0, "losses": 0,
        "expires_at": InSeconds(float(setting("PLAN_EXPIRES"))),
    }  # fmt: skip
    rows = plan._row().filter(cause=INTERRUPTED, digest=digest_of(plan))
    return _decide(plan, rows, FAILED, APPROVED, RESUMED, by, reason, fresh, unless=taken_back_by)


def taken_back_by(plan: Any) -> Any:
    """Return the compensations of a plan that have done something of it, or still may."""
    over = Q(status__in=(REJECTED, EXPIRED)) | Q(status__in=(PENDING, APPROVED), fence=0, expires_at__lte=Now())
    return type(plan)._base_manager.using(plan._state.db).filter(compensates=plan).exclude(over)


def may(plan: Any, by: Any, *, to_grant: bool = False) -> None:
    """
    Return if they may decide about the plan; `to_grant`: that it is carried out.

    Raises:
        NotAllowed: saying what is missing.
    """
    if not getattr(by, "pk", None):
        message = _("Deciding about a plan takes a user who is signed in.")
        raise NotAllowed(message)
    needed = [PERMISSION]
    if to_grant:
        found = [actions.find(step["action"]) for step in plan.steps]
        needed += dict.fromkeys(action.permission for action in found if action is not None and action.permission)
    missing = [name for name in needed if not by.has_perm(name)]
    if missing:
        facts = {"who": _name_of(by), "missing": ", ".join(missing)}
        message = _("%(who)s may not decide about this plan: %(missing)s is missing.") % facts
        raise NotAllowed(message)
    if to_grant and plan.four_eyes and plan.proposer_id == _id_of(by):
        message = _("%(who)s proposed this plan; somebody else must approve it.") % {"who": _name_of(by)}
        raise NotAllowed(message)


def record(plan: Any, verb: str, by: Any, reason: str = "") -> Any:
    """Add a decision to the plan's record, in the caller's transaction. It holds names, so it outlives accounts."""
    return plan.decisions.using(plan._state.db).create(
        plan_id=plan.pk,
        verb=verb,
        by_id=_id_of(by),
        by=_name_of(by),
        digest=plan.digest,
        reason=clean_text(reason, 2_000),
    )


def _decide(
    plan: Any,
    rows: Any,
    source: str,
    target: str,
    verb: str,
    by: Any,
    reason: str,
    fields: dict[str, Any],
    *,
    unless: Any = None,
) -> Ruling:
    using = plan._state.db
    with transaction.atomic(using=using):
        decision = None
        if transition(rows, source, target, **fields):
            # Asked while we hold the row: whoever proposes to take it back locks it too, so it is one or the other.
            if unless is not None and unless(plan).exists():
                transaction.set_rollback(True, using=using)
            else:
                decision = record(plan, verb, by, reason)
    if decision is not None:
        waking.ring_after_commit(using)
        plan.refresh_from_db()
        decision.refresh_from_db()
        return Ruling(mine=True, verdict=verb, by=decision.by, at=decision.at, sentence=_sentence(decision))
    return _lost(plan, source, digest_of(plan))


def _lost(plan: Any, source: str, seen: str) -> Ruling:
    """Say why no row moved: who was first, and when."""
    plan.heal()
    last = plan.decisions.using(plan._state.db).order_by("pk").last()
    if plan.status == source and digest_of(plan) != seen:
        why = _("The plan is not what you were shown any more; read it again.")
        return Ruling(mine=False, verdict=plan.status, by="", at=None, sentence=why)
    if plan.status == source and digest_of(plan) != plan.digest:
        why = _("The plan is not what was proposed: its payload was changed. Propose it anew.")
        return Ruling(mine=False, verdict=plan.status, by="", at=None, sentence=why)
    if plan.status == EXPIRED:
        at = f"{plan.expires_at:%Y-%m-%d %H:%M:%S} UTC"
        why = _("The plan expired at %(at)s; propose it anew.") % {"at": at}
        return Ruling(mine=False, verdict=EXPIRED, by="", at=plan.settled_at, sentence=why)
    if source == FAILED and plan.status == FAILED and taken_back_by(plan).exists():
        why = _("The plan is being taken back, so it cannot go on. Reject what takes it back first.")
        return Ruling(mine=False, verdict=FAILED, by="", at=None, sentence=why)
    if last is not None and last.verb in (APPROVED, REJECTED, RESUMED):
        why = _("Already decided: %(sentence)s") % {"sentence": _sentence(last)}
        return Ruling(mine=False, verdict=last.verb, by=last.by, at=last.at, sentence=why)
    why = _("The plan is %(status)s; that can not be done to it.") % {"status": verb_word(plan.status)}
    return Ruling(mine=False, verdict=plan.status, by="", at=None, sentence=why)


def _sentence(decision: Any) -> str:
    facts = {"verb": verb_word(decision.verb), "by": decision.by, "at": f"{decision.at:%Y-%m-%d %H:%M:%S} UTC"}
    said = _("%(verb)s by %(by)s at %(at)s") % facts
    return f"{said} ({decision.reason})." if decision.reason else f"{said}."


def _id_of(user: Any) -> str:
    return "" if getattr(user, "pk", None) is None else str(user.pk)


def _name_of(user: Any) -> str:
    if getattr(user, "pk", None) is None:
        return "a program"
    return clean_text(str(user.get_username()), 200)[:200]
