"""
Verdicts: the words in which plans, their decisions and their steps are told. One word, one thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.utils.translation import pgettext_lazy

from .run import Receipt

__all__ = [
    "APPROVED",
    "BEGUN",
    "COMPENSATED",
    "CONFLICT",
    "EXECUTED",
    "EXECUTING",
    "EXPIRED",
    "FAILED",
    "FAILURE",
    "INTERRUPTED",
    "OK",
    "PENDING",
    "PERMISSION",
    "PROPOSED",
    "REFUSED",
    "REJECTED",
    "RESUMED",
    "Ending",
    "Issue",
    "Ruling",
    "StepReceipt",
    "Target",
    "verb_word",
]

# Statuses of a plan.
PENDING: Final = "pending"  # waits for a decision; no worker sees it
APPROVED: Final = "approved"  # waits for a worker
EXECUTING: Final = "executing"
EXECUTED: Final = "executed"
FAILED: Final = "failed"
REJECTED: Final = "rejected"
EXPIRED: Final = "expired"

# Why a plan is `failed`.
FAILURE: Final = "failure"  # a step failed; its receipt says so
INTERRUPTED: Final = "interrupted"  # its owner vanished; the only cause after which it may be resumed
REFUSED: Final = "refused"  # it is not what was approved, or who approved it may not any more; nothing was done

# Kinds of receipts. CONFLICT is also a cause.
OK: Final = "ok"
CONFLICT: Final = "conflict"  # a target was not at the version that the approver saw; nothing was done
BEGUN: Final = "begun"  # an external call was begun, and nobody wrote down how it ended

# Decisions; `approved` and `rejected` are named as the statuses they lead to.
PROPOSED: Final = "proposed"
RESUMED: Final = "resumed"
COMPENSATED: Final = "compensated"

#: Statuses and decisions in the language of whoever reads; what is kept is the English word.
_WORDS: Final = {
    PENDING: pgettext_lazy("plan", "pending"),
    APPROVED: pgettext_lazy("plan", "approved"),
    EXECUTING: pgettext_lazy("plan", "executing"),
    EXECUTED: pgettext_lazy("plan", "executed"),
    FAILED: pgettext_lazy("plan", "failed"),
    REJECTED: pgettext_lazy("plan", "rejected"),
    EXPIRED: pgettext_lazy("plan", "expired"),
    PROPOSED: pgettext_lazy("plan", "proposed"),
    RESUMED: pgettext_lazy("plan", "resumed"),
    COMPENSATED: pgettext_lazy("plan", "compensated"),
}

#: What a person needs to decide anything about plans.
PERMISSION: Final = "durable.approve_plan"


def verb_word(verb: str) -> str:
    """Return a status of a plan, or a decision about one, as a person says it."""
    return str(_WORDS.get(verb, verb))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something that a step changes, at the version it has now. Two steps with the same kind and id change the same thing."""

    kind: str
    id: str
    version: Any  # JSON; None: it does not exist
    label: str = ""  # for people

    @property
    def name(self) -> str:
        """What people call it."""
        return self.label or f"{self.kind} {self.id}"

    def as_json(self) -> dict[str, Any]:
        """Return what is frozen in the plan."""
        return {"kind": self.kind, "id": str(self.id), "version": self.version, "label": self.label}


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One reason why a plan cannot be proposed."""

    position: int | None  # of the step; None: the plan as a whole
    place: str  # into the arguments, such as args["id"]; empty: the step itself
    message: str

    def __str__(self) -> str:
        where = "the plan" if self.position is None else f"step {self.position + 1}"
        return f"{where}{', ' if self.place else ''}{self.place}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What became of somebody's wish to decide. True where it was this call that decided."""

    mine: bool
    verdict: str  # the decision that stands, or the plan's status where nobody decided
    by: str  # who decided; empty where nobody did
    at: datetime | None
    sentence: str  # for people

    def __bool__(self) -> bool:
        return self.mine


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How one step of a plan ended."""

    kind: str  # OK, FAILED or CONFLICT
    output: Any = None
    versions: list[Any] = field(default_factory=list)  # [kind, id, version] of each target afterwards
    said: str = ""  # for people
    error: BaseException | None = None  # for staff


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReceipt(Receipt):
    """What is recorded of one step of a plan. `at` is set only where the step was done; `recorded_at` in every case."""

    position: int
    words: str  # the step as the approver read it
    kind: str  # OK, FAILED, CONFLICT, BEGUN; empty: nothing happened
    output: Any = None
    error: str = ""  # for people: never the text of an exception that nobody meant for them
    recorded_at: datetime | None = None
