"""
Three tables: a document (which version it is at), its revisions (what each save said), and refused copies.

A document row is small and holds no content, so a save rewrites a hundred bytes of it and no index.
The content is stored once, on the revision, as the text that was accepted. The head is the revision
with the document's own version: there is no second pointer that could disagree.
"""

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

__all__ = ["Conflict", "Document", "Revision"]


class Document(models.Model):
    """One versioned document. Written only through `documents.saving`; its version only grows, by one."""

    kind = models.CharField(_("kind"), max_length=64)
    key = models.CharField(_("key"), max_length=200)
    version = models.PositiveBigIntegerField(_("version"))
    digest = models.CharField(_("SHA-256 of the head's text"), max_length=64, blank=True)
    schema = models.PositiveIntegerField(_("schema"), default=1)
    created_at = models.DateTimeField(_("created"))
    saved_at = models.DateTimeField(_("last saved"))
    deleted_at = models.DateTimeField(_("deleted"), null=True, blank=True)

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        constraints = [models.UniqueConstraint(fields=["kind", "key"], name="documents_document_kind_key")]

    def __str__(self) -> str:
        return f"{self.kind}/{self.key}"


class Revision(models.Model):
    """The receipt of one save. Never changed; pruning may take its content, never its row."""

    class Action(models.TextChoices):
        SAVE = "save", _("saved")
        SETTLE = "settle", _("conflict settled")
        RESTORE = "restore", _("restored")
        DELETE = "delete", _("deleted")
        OUTSIDE = "outside", _("changed outside documents")

    document = models.ForeignKey(Document, models.CASCADE, related_name="revisions", db_index=False)
    version = models.PositiveBigIntegerField(_("version"))
    content = models.TextField(_("content"), blank=True)
    digest = models.CharField(_("SHA-256"), max_length=64, blank=True)
    # Of the text as it was sent, where the kind's clean() changed it: a repeat of that save must be known again.
    sent_digest = models.CharField(_("SHA-256 as sent"), max_length=64, blank=True)
    size = models.PositiveIntegerField(_("bytes"))
    schema = models.PositiveIntegerField(_("schema"))
    action = models.CharField(_("action"), max_length=12, choices=Action.choices)
    save_id = models.UUIDField(_("save id"))
    writer = models.CharField(_("writer"), max_length=64)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("by")
    )
    by_name = models.CharField(_("name at that time"), max_length=150)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    restored_from = models.PositiveBigIntegerField(_("restored from"), null=True, blank=True)
    at = models.DateTimeField(_("at"))
    pruned_at = models.DateTimeField(_("content pruned"), null=True, blank=True)

    class Meta:
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        constraints = [
            models.UniqueConstraint(fields=["document", "version"], name="documents_revision_version"),
            models.UniqueConstraint(fields=["document", "save_id"], name="documents_revision_save_id"),
        ]

    def __str__(self) -> str:
        return f"version {self.version}"


class Conflict(models.Model):
    """
    A refused copy, kept until a person decides.

    At most one is open for each writer of a document; a further stale save of that writer updates it in place
    and adds 1 to `changes`, so that nobody can settle a copy they have not seen.
    """

    class Decision(models.TextChoices):
        KEEP_STORED = "keep_stored", _("stored kept")
        TAKE_THEIRS = "take_theirs", _("theirs taken")
        MERGE = "merge", _("merged")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="conflicts")
    base_version = models.PositiveBigIntegerField(_("made on version"))
    stored_version = models.PositiveBigIntegerField(_("refused at version"))
    theirs = models.TextField(_("refused copy"))
    theirs_digest = models.CharField(_("SHA-256"), max_length=64)
    size = models.PositiveIntegerField(_("bytes"))
    schema = models.PositiveIntegerField(_("schema"))
    save_id = models.UUIDField(_("save id"))
    writer = models.CharField(_("writer"), max_length=64)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("author")
    )
    # Outlives the user, so that two deleted authors with one writer name never share a row.
    by_key = models.CharField(_("author's key"), max_length=64, blank=True)
    by_name = models.CharField(_("author's name at that time"), max_length=150)
    changes = models.PositiveIntegerField(_("copies received"), default=1)
    opened_at = models.DateTimeField(_("opened"))
    changed_at = models.DateTimeField(_("last copy"))
    settled_at = models.DateTimeField(_("settled"), null=True, blank=True)
    settled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("settled by")
    )
    settled_by_name = models.CharField(_("settled by (name)"), max_length=150, blank=True)
    settle_id = models.UUIDField(_("save id of the settlement"), null=True, blank=True)
    settled_version = models.PositiveBigIntegerField(_("version after it"), null=True, blank=True)
    decision = models.CharField(_("decision"), max_length=12, choices=Decision.choices, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    seen_at = models.DateTimeField(_("author told"), null=True, blank=True)

    class Meta:
        verbose_name = _("conflict")
        verbose_name_plural = _("conflicts")
        permissions = [("settle_conflict", _("Can settle a conflict"))]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "by_key", "writer"],
                condition=models.Q(settled_at__isnull=True),
                name="documents_conflict_one_open",
            )
        ]
        indexes = [models.Index(fields=["settled_at", "-changed_at"], name="documents_conflict_open_first")]

    def __str__(self) -> str:
        return f"conflict of {self.by_name} on version {self.base_version}"
