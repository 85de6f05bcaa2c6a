"""The sections of the page that are measured by scripts of their own: a record of theirs → Markdown."""

from collections.abc import Callable, Mapping
from typing import Any

from bench import admin_table, documents_save

__all__ = ["SECTIONS"]

_SAVES = """The same content kept by a bare last-write-wins UPDATE, by `documents.save` (versioned, conflict-checked,
idempotent) and by both history packages, which take turns. A ratio is that of the same round."""
SECTIONS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "W7": lambda record: f"## W7. Saving a document\n\n{_SAVES}\n\n{documents_save.table(record)}",
    "W8": lambda record: f"## W8. Admin pages\n\n{admin_table.table(record)}",
}
