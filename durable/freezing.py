"""
Freezing: a plan as the approver reads it, in one form that every database and process gives back equal; and its digest.
"""

from __future__ import annotations

import hashlib
from typing import Any

from . import payloads

__all__ = ["digest_of", "frozen"]

#: Part of the digest: another form has other digests.
_FORM = 1


def frozen(value: Any) -> Any:
    """Return JSON in the form in which it is kept: a zero has no sign, which PostgreSQL would take away."""
    if isinstance(value, dict):
        return {name: frozen(part) for name, part in value.items()}
    if isinstance(value, list):
        return [frozen(part) for part in value]
    return 0.0 if isinstance(value, float) and value == 0 else value


def digest_of(plan: Any) -> str:
    """
    Return the digest of everything that is approved: which plan, its title and rules, and every step in its order.

    The plan's own id is part of it, so that no approval fits another plan.
    """
    approved = {
        "form": _FORM, "plan": str(plan.pk), "title": plan.title, "four_eyes": plan.four_eyes, "steps": plan.steps,
    }  # fmt: skip
    return hashlib.sha256(payloads.canonical(approved).encode("utf-8", "backslashreplace")).hexdigest()
