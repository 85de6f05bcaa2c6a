"""What a person is told about a plan before they decide, while it runs, and after it. Errors' own texts are not shown here."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

__all__ = ["Line", "Told", "tell"]

GUARANTEES = {
    None: gettext_lazy("happens exactly once"),
    "keyed": gettext_lazy("reaches outside; the other side takes our key, so a repeat changes nothing"),
    "idempotent": gettext_lazy("reaches outside; repeating it is harmless"),
    "at-least-once": gettext_lazy("reaches outside; after a crash it may happen twice"),
}
RISKS = {"low": gettext_lazy("low risk"), "medium": gettext_lazy("medium risk"), "high": gettext_lazy("high risk")}
KINDS = {
    "ok": gettext_lazy("done"),
    "failed": gettext_lazy("failed"),
    "conflict": gettext_lazy("changed since review; not done"),
    "begun": gettext_lazy("begun; it may have happened"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One step, as the page shows it."""

    words: str
    action: str
    risk: str
    risk_word: str
    guarantee: str
    undo: str
    targets: list[Any]
    state: str  # "done", "failed", "doubt", "now", "next", "never"
    word: str
    error: str
    at: Any
    by: str
    starts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The whole page."""

    headline: str
    sentence: str
    lines: list[Line]
    done: int
    waits: bool  # for a decision
    settled: bool  # the page need not look again


def tell(plan: Any) -> Told:
    """Return what to show now. Heal the plan before: what is shown is what the database knows."""
    receipts = plan.step_receipts()
    done = sum(receipt.kind == "ok" for receipt in receipts)
    lines = [_line(plan, step, receipt, done) for step, receipt in zip(plan.steps, receipts, strict=True)]
    headline, sentence = _headline(plan, done, receipts)
    return Told(
        headline=headline, sentence=sentence, lines=lines, done=done, waits=plan.status == "pending",
        settled=plan.settled_at is not None or plan.status == "pending",
    )  # fmt: skip


def _line(plan: Any, step: dict[str, Any], receipt: Any, done: int) -> Line:
    state, word = _state(plan, receipt, done)
    return Line(
        words=step["words"], action=step["action"], risk=step["risk"], risk_word=str(RISKS[step["risk"]]),
        guarantee=str(GUARANTEES[step["external"]]),
        undo=_("can be taken back") if step["undo"] else _("cannot be taken back"),
        targets=step["targets"], state=state, word=word, error=receipt.error, at=receipt.recorded_at, by=receipt.owner,
        starts=receipt.starts,
    )  # fmt: skip


def _state(plan: Any, receipt: Any, done: int) -> tuple[str, str]:
    if receipt.kind == "begun" and plan.status == "executing":
        return "now", _("working on it")
    if receipt.kind:
        states = {"ok": "done", "begun": "doubt"}
        return states.get(receipt.kind, "failed"), str(KINDS[receipt.kind])
    if plan.settled_at is not None:
        return "never", _("not run")
    if plan.status == "executing" and receipt.position == done:
        return "now", _("working on it")
    return "next", _("to come") if plan.status != "pending" else ""


def _headline(plan: Any, done: int, receipts: list[Any]) -> tuple[str, str]:
    so_far = {"done": done, "all": len(receipts)}
    if plan.status == "pending":
        return _("Waits for a decision"), _(
            "Nothing has been done. Read the steps; they run exactly as they stand here."
        )
    if plan.status == "approved":
        return _("Approved"), _("A worker will begin shortly. You may close this page.")
    if plan.status == "executing":
        return _("Being executed"), _("%(done)s of %(all)s steps are done. You may close this page.") % so_far
    if plan.status == "executed":
        return _("Executed"), _("All %(all)s steps are done. This plan never runs again.") % so_far
    if plan.status == "rejected":
        return _("Rejected"), _("Nothing has been done, and nothing will be.")
    if plan.status == "expired":
        return _("Expired"), _("Nobody decided about it, or began it, in time. Nothing has been done.")
    return _failed(plan, so_far)


def _failed(plan: Any, so_far: dict[str, int]) -> tuple[str, str]:
    if plan.cause == "refused":
        return _("Refused"), _(
            "It is not what was approved any more, or its approval does not hold. Nothing was done by it."
        )
    kept = _("%(done)s of %(all)s steps are done and stay done; nothing was rolled back.") % so_far
    if plan.cause == "interrupted":
        head = _("Interrupted")
        return head, _("Whoever executed it vanished.") + " " + kept + " " + _(
            "Staff can look at it, and let it go on."
        )
    if plan.cause == "conflict":
        return _("Stopped"), _("Something changed since the plan was reviewed.") + " " + kept
    return _("Failed"), _("A step failed.") + " " + kept
