"""
The admin of documents: histories to read, conflicts to settle, and ordinary models guarded against a second editor.

Works without JavaScript, without inline script or style, in the admin's own colours, light and dark.
"""

from django.contrib import admin

from documents.models import Conflict, Document, Revision

from .conflicts import ConflictAdmin
from .histories import DocumentAdmin, RevisionAdmin
from .versioned import VersionedModelAdmin

__all__ = ["ConflictAdmin", "DocumentAdmin", "RevisionAdmin", "VersionedModelAdmin"]

admin.site.register(Document, DocumentAdmin)
admin.site.register(Revision, RevisionAdmin)
admin.site.register(Conflict, ConflictAdmin)
