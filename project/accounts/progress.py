"""
What a person is told about the deletion of their account. They have no login any more, only the address of this page.

Errors are not shown here: they are written for whoever runs the site, and stand in the admin.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core import signing
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from .models import AccountDeletion

__all__ = ["Line", "Progress", "address_of", "deletion_for", "progress_of"]

SALT = "accounts.progress"
UNATTENDED_AFTER = timedelta(seconds=15)

TITLES = {
    "cancel_subscription": gettext_lazy("Cancel your subscription"),
    "delete_customer": gettext_lazy("Delete your customer record at Stripe"),
    "delete_files": gettext_lazy("Delete your files"),
    "delete_objects": gettext_lazy("Delete your stored objects"),
    "delete_user": gettext_lazy("Delete your account"),
}

WORDS = {
    "done": gettext_lazy("done"),
    "now": gettext_lazy("working on it"),
    "again": gettext_lazy("will be tried again"),
    "next": gettext_lazy("to come"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One step, as the page shows it."""

    title: str
    state: str  # "done", "now", "again" (it failed and will be repeated), "next"
    word: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The whole page."""

    lines: list[Line]
    done: int
    headline: str
    sentence: str
    settled: bool
    unattended: bool


def address_of(deletion: AccountDeletion) -> str:
    """Return the page's address. Whoever has it may read it, for as long as the record is kept."""
    return reverse("progress", args=[signing.dumps(str(deletion.pk), salt=SALT)])


def deletion_for(token: str) -> AccountDeletion | None:
    """Return the deletion this address stands for; None if it was not we who made the address, or it is forgotten."""
    try:
        pk = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        return None
    return AccountDeletion.objects.filter(pk=pk).first()


def progress_of(deletion: AccountDeletion) -> Progress:
    """Return what to show now."""
    receipts = deletion.receipts()
    done = sum(receipt.at is not None for receipt in receipts)
    current = _state_of_current(deletion)
    lines = []
    for position, receipt in enumerate(receipts):
        state = "done" if receipt.at else current if position == done else "next"
        title = str(TITLES.get(receipt.step, receipt.step))
        lines.append(Line(title=title, state=state, word=str(WORDS[state]), at=receipt.at))
    headline, sentence = _tell(deletion, current)
    return Progress(
        lines=lines,
        done=done,
        headline=headline,
        sentence=sentence,
        settled=deletion.settled_at is not None,
        unattended=_is_unattended(deletion),
    )


def _state_of_current(deletion: AccountDeletion) -> str:
    if deletion.status == "running" and not _is_unattended(deletion):
        return "now"
    return "again" if deletion.last_error else "next"


def _tell(deletion: AccountDeletion, current: str) -> tuple[str, str]:
    if deletion.status == "done":
        return _("Your account is gone"), _("Everything listed here has been deleted. Nothing is left to do.")
    if deletion.status == "canceled":
        return _("Called off"), _("The deletion was stopped and your account is open again. What is done stays done.")
    if deletion.settled_at:
        return _("We have stopped"), _("Something needs a person. We know about it; you need not do anything.")
    if _is_unattended(deletion):
        return _("Waiting"), _("Nobody is working on this just now. Your request is safe and will not be forgotten.")
    if current == "again":
        return _("This takes longer"), _("A step did not work yet. What is done stays done; we try the rest again.")
    return _("Your account is being deleted"), _("You may close this page. The work goes on without it.")


def _is_unattended(deletion: AccountDeletion) -> bool:
    """Tell whether nobody has taken the run although it could be taken for a while: there may be no worker."""
    free_since = deletion.lease_expires_at if deletion.status == "running" else deletion.due_at
    return free_since is not None and timezone.now() - free_since > UNATTENDED_AFTER
