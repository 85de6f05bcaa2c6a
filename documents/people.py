"""Who did it: a user of whatever model the project has, or a named machine. The name outlives the account."""

from dataclasses import dataclass
from typing import Any

__all__ = ["Actor", "actor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """What a revision or a conflict records of the one who wrote it."""

    pk: Any
    key: str
    name: str


def actor(by: Any, name: str = "") -> Actor:
    """
    Return the actor for a user, for nobody, or for a machine.

    Out: an Actor. `by` is a saved user, an AnonymousUser or None; `name` says which machine it was ("nightly import").
    """
    if by is None or not getattr(by, "is_authenticated", False) or by.pk is None:
        anonymous = by is not None
        return Actor(pk=None, key="", name=(name or ("anonymous" if anonymous else "system"))[:150])
    return Actor(pk=by.pk, key=str(by.pk)[:64], name=(name or str(by.get_username()) or str(by.pk))[:150])
