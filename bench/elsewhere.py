"""The sections of the page that are measured by scripts of their own: a record of theirs → Markdown."""

from collections.abc import Callable, Mapping
from typing import Any

from bench import admin_pages, documents_save

__all__ = ["SECTIONS"]

SECTIONS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "W7": lambda record: "## W7. Saving a document\n\n" + documents_save.table(record),
    "W8": lambda record: "## W8. Admin pages\n\n" + admin_pages.table(record),
}
