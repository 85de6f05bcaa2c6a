"""
Proving: what is about to be executed is what was approved, by somebody who still may.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model

from . import actions
from .errors import NotAsApproved, Wait
from .freezing import digest_of
from .verdicts import APPROVED, PERMISSION, RESUMED

__all__ = ["prove"]

_RECHECK = 60.0  # seconds until a plan is looked at again that this code lacks an action of


def prove(plan: Any, using: str) -> tuple[dict[int, Any], Any]:
    """
    Return the plan's receipts by position, and the user who approved it, as they are now.

    Raises:
        NotAsApproved: with what does not hold.
        Wait: this code lacks an action of it.
    """
    granted = plan.decisions.using(using).filter(verb__in=(APPROVED, RESUMED)).order_by("pk").last()
    if granted is None:
        _refuse("nobody approved it")
    if digest_of(plan) != plan.digest or granted.digest != plan.digest:
        _refuse(f"its payload differs from approved (by {granted.by} at {granted.at:%Y-%m-%d %H:%M:%S} UTC)")
    receipts = {receipt.position: receipt for receipt in plan.log.using(using)}
    for position, receipt in receipts.items():
        if position >= len(plan.steps) or plan.steps[position]["action"] != receipt.action:
            _refuse(f"it has a receipt of {receipt.action} at position {position}, where the plan has none")
    known = [actions.find(step["action"]) for step in plan.steps]
    for step, action in zip(plan.steps, known, strict=True):
        if action is None:
            raise Wait(_RECHECK, f"no action {step['action']!r} in this code; it waits for code that has one")
        if action.version != step["version"]:
            _refuse(f"{action.name} is at version {action.version} now, and version {step['version']} was approved")
        if action.external != step["external"]:
            _refuse(f"{action.name} promises something else now ({action.guarantee}) than what was approved")
    return receipts, _still_allowed(granted, known)


def _still_allowed(granted: Any, known: list[Any]) -> Any:
    """Return the user who approved, as they are now. Raises NotAsApproved where they may not any more."""
    users: Any = get_user_model()
    user: Any = users._base_manager.filter(pk=granted.by_id or None).first()
    if user is None:
        _refuse(f"the account of {granted.by}, who approved it, is gone")
    needed = [PERMISSION, *dict.fromkeys(action.permission for action in known if action.permission)]
    missing = [name for name in needed if not user.has_perm(name)]
    if missing:
        _refuse(f"{granted.by}, who approved it, lacks {', '.join(missing)} now")
    return user


def _refuse(why: str) -> Any:
    raise NotAsApproved(why)
