"""
Acknowledging: a person has looked at a run that was given up, and leaves it so. It is no longer told as a problem.

Nothing of the run changes: not its status, not its fence, not its receipts. What was looked at is one settlement, known by
its time. A run that is retried and given up again has another, and is told again; so no verb has to undo anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models, router
from django.db.models import Exists, OuterRef, Subquery, Value
from django.db.models.functions import Now

from .run import Seen, clean_text
from .standing import trouble

__all__ = ["Acknowledgement", "forget", "was_acknowledged"]


class Acknowledgement(models.Model):
    """That somebody looked at how a run was settled. Who decided it, and all that were before, is in Django's history."""

    kind = models.CharField(max_length=150, editable=False)
    run = models.UUIDField(editable=False)
    settled_at = models.DateTimeField(editable=False)  # of the run: the settlement that was looked at
    at = models.DateTimeField(db_default=Now(), editable=False)
    by = models.CharField(max_length=200, editable=False)
    reason = models.TextField(editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "run"], name="durable_acknowledged_run")]

    def __str__(self) -> str:
        return f"{self.kind} {self.run}"

    @classmethod
    def note(cls, run: Any, *, by: str, reason: str, seen: Seen) -> bool:
        """Note that the run was looked at as it was seen. Return whether it is still so, and still needs a look."""
        if not is_kept_beside(run._state.db):
            return False
        rows = type(run)._base_manager.using(run._state.db).filter(trouble(run.MACHINE), pk=run.pk)
        at = seen.among(rows).select_for_update().values_list("settled_at", flat=True).first()
        if at is None:
            return False
        facts = {"settled_at": at, "at": Now(), "by": clean_text(by, 200)[:200], "reason": clean_text(reason, 2_000)}
        mine = cls._base_manager.using(run._state.db)
        noted, _ = mine.update_or_create(kind=run._meta.label_lower, run=run.pk, defaults=facts)
        # As the database has it: SQLite writes its own times with three digits, and ours with six.
        mine.filter(pk=noted.pk).update(settled_at=Subquery(rows.values("settled_at")[:1]))
        return True

    @classmethod
    def is_missing(cls, run: Any) -> bool:
        """Return whether the settlement that the run has now can be noted, and is not."""
        return is_kept_beside(run._state.db) and not cls.covers(run)

    @classmethod
    def covers(cls, run: Any) -> bool:
        """Return whether somebody looked at the settlement that the run has now."""
        using = run._state.db
        return bool(type(run)._base_manager.using(using).filter(was_acknowledged(type(run), using), pk=run.pk).exists())


def is_kept_beside(using: str) -> bool:
    """Return whether acknowledgements live in that database: a run of another one is told until it is settled otherwise."""
    return bool(using == router.db_for_write(Acknowledgement))


def was_acknowledged(model: type[Any], using: str) -> Any:
    """Return the same as a condition on rows. Never true of runs that live in another database than acknowledgements."""
    if not is_kept_beside(using):
        return Value(value=False, output_field=models.BooleanField())
    mine = Acknowledgement._base_manager.filter(
        kind=model._meta.label_lower, run=OuterRef("pk"), settled_at=OuterRef("settled_at")
    )
    return Exists(mine)


def forget(model: type[Any], pks: Iterable[Any], using: str) -> None:
    """Forget what was noted of runs that are deleted."""
    if is_kept_beside(using):
        Acknowledgement._base_manager.using(using).filter(kind=model._meta.label_lower, run__in=list(pks)).delete()
