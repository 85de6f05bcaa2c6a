"""What a decision is, and the sentences that most of them need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

__all__ = ["Asked", "Decision", "Question", "Words", "about_receipts", "about_repeats"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What else a decision must know."""

    name: str
    label: Any
    longest: int = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asked for."""

    seen: Any  # the run as the page showed it: a `durable.run.Seen`
    user: Any  # who decides
    reason: str = ""
    step: str = ""  # of a decision about one step
    answers: Mapping[str, str] = field(default_factory=dict)  # to the decision's questions, by their names

    def still(self, run: Any) -> bool:
        """
        Lock the run's row, and return whether it is as it was seen. Inside the decision's transaction.

        For verbs that cannot be bound to what was seen by their own WHERE: until the transaction ends, nobody moves it.
        """
        rows = type(run)._base_manager.using(run._state.db).filter(pk=run.pk)
        return bool(self.seen.among(rows).select_for_update().values_list("pk").first())

    @property
    def by(self) -> str:
        """The person's name, as it is recorded."""
        return str(self.user.get_username())


#: (run, its receipts, the database's time, the step decided on) → sentences
Words = Callable[[Any, Sequence[Any], datetime, str], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One thing staff may do to a run of a shape."""

    name: str  # in addresses: "retry"
    label: Any  # on the button
    done: Any  # what is said when it is done, and kept in the history: "Retried"
    sources: tuple[str, ...]  # the statuses it leads from
    #: Falsy: nothing was changed; `sentence` of what is returned says why, where it has one. A run: where it led to.
    carry_out: Callable[[Any, Asked], Any]
    will: Words  # what happens
    wont: Words  # what does not
    when: Callable[[Any, datetime], bool] = lambda run, now: True  # what else must be true; carry_out checks it again
    permission: str = "change"  # one of the model's own, or "app.codename"
    needs_reason: bool = False
    asks: tuple[Question, ...] = ()  # each must be answered
    shows: Callable[[Any], str] = lambda run: ""  # what else of the run must still be what the page showed
    #: Its verb is bound by itself to what was shown, and says who was first: it is asked even where the run moved on.
    tells: bool = False
    of_step: bool = False  # decided for one step that has no receipt yet
    grave: bool = False  # what was done by it cannot be taken back

    def is_lawful(self, run: Any, now: datetime) -> bool:
        """Return whether it may be pressed for the run as it stands."""
        return run.status in self.sources and self.when(run, now)


def about_repeats(receipts: Sequence[Any]) -> list[str]:
    """Return a sentence for each step that was begun, has no receipt, and will be begun again."""
    found = []
    for receipt in receipts:
        if receipt.at is None and receipt.starts:
            facts = {"step": receipt.step, "starts": receipt.starts, "key": receipt.key}
            found.append(_AGAIN[receipt.guarantee]() % facts if receipt.guarantee in _AGAIN else _again() % facts)
    return found


def about_receipts(receipts: Sequence[Any]) -> list[str]:
    """Return the sentence on what has a receipt, and is not repeated; nothing where there is none."""
    names = ", ".join(receipt.step for receipt in receipts if receipt.at is not None)
    return [_("These have a receipt and are not repeated: %(steps)s.") % {"steps": names}] if names else []


def _again() -> str:
    return _("%(step)s was begun %(starts)s times and is begun again.")


_AGAIN: dict[str, Callable[[], str]] = {
    "exactly once": lambda: _(
        "%(step)s was begun %(starts)s times and is begun again; the earlier tries left nothing in the database."
    ),
    "keyed": lambda: _(
        "%(step)s was begun %(starts)s times and is begun again with the same key, %(key)s: the other side answers a "
        "repeat from its record."
    ),
    "idempotent": lambda: _(
        "%(step)s was begun %(starts)s times and is begun again; repeating it changes nothing on the other side."
    ),
    "at-least-once": lambda: _(
        "%(step)s was begun %(starts)s times and is begun again: the outside world may see it twice."
    ),
}
