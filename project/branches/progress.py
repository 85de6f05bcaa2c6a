"""What staff are told of a reset: each stage with its time, never an id or a text of Neon's."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from durable.decisions import when
from durable.models import Operation

__all__ = ["Line", "Progress", "progress_of"]

STATUSES = {
    "scheduling": gettext_lazy("Neon has scheduled it"),
    "running": gettext_lazy("Neon is working on it"),
    "failed": gettext_lazy("An attempt of Neon's failed; Neon tries again"),
    "finished": gettext_lazy("Neon has finished"),
    "skipped": gettext_lazy("Neon had nothing to do"),
    "cancelling": gettext_lazy("Neon is stopping it"),
    "cancelled": gettext_lazy("Neon stopped it"),
}
HEADLINES = {
    "queued": gettext_lazy("The reset is queued"),
    "running": gettext_lazy("The branch is being reset"),
    "succeeded": gettext_lazy("The branch is reset"),
    "failed": gettext_lazy("The reset failed"),
    "canceled": gettext_lazy("The reset was called off"),
    "unknown": gettext_lazy("Nobody knows how the reset stands"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One stage, as the page shows it."""

    title: str
    state: str  # "done", "now", "again", "next"
    at: datetime | None
    last: datetime | None = None  # where it was shown more than once


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The whole page."""

    lines: list[Line]
    done: int
    headline: str
    sentence: str
    settled: bool
    undecided: bool


def progress_of(op: Operation) -> Progress:
    """Return what to show now."""
    settled = op.settled_at is not None
    begun = op.accepted_at is not None
    in_doubt = op.begun_at is not None and not begun and not settled
    lines = [
        Line(title=_("Recorded"), state="done", at=op.created_at),
        Line(
            title=_("Being looked for at Neon") if in_doubt else _("Accepted by Neon"),
            state="done" if begun else "next" if settled else "now",
            at=op.accepted_at,
        ),
    ]
    for entry in op.seen:
        first, last = when(entry["first"]), when(entry["last"])
        is_now = not settled and entry["status"] == op.far_status
        title = STATUSES.get(entry["status"])
        said = str(title) if title else _("Neon says “%(status)s”") % {"status": entry["status"]}
        state = "again" if is_now and op.last_error else "now" if is_now else "done"
        lines.append(Line(title=said, state=state, at=first, last=last if last != first else None))
    end = _("Done") if op.status != "unknown" else _("A person says what happened")
    lines.append(
        Line(title=end, state="done" if op.status == "succeeded" else "next", at=op.settled_at if settled else None)
    )
    return Progress(
        lines=lines,
        done=sum(line.state == "done" for line in lines),
        headline=str(HEADLINES[op.status]),
        sentence=_sentence(op),
        settled=settled,
        undecided=op.status == "unknown",
    )


def _sentence(op: Operation) -> str:
    if op.status == "succeeded":
        return _("It is what its parent is. What was on it before is kept on a branch of its own.")
    if op.status == "failed":
        return (
            _("Neon refused it. The branch is as it was.") if op.accepted_at is None else _("Neon says that it failed.")
        )
    if op.status == "canceled":
        return _("Nobody watches it any more. What Neon had begun, Neon may finish.")
    if op.status == "unknown":
        return _(
            "No answer says whether it happened. It is not tried again blindly: someone must look at Neon and decide."
        )
    if op.last_error:
        return _("A look at Neon did not work. That changes nothing over there; we look again.")
    return _("You may close this page. The work goes on without it.")
