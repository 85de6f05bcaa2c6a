"""
System checks: a kind that cannot work is refused when the site starts, not when somebody saves.

Each has an id, a hint, and a test named after the id.
"""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as Caution

from .conf import DEFAULTS, given
from .kinds import DocumentKind, kinds

__all__ = ["check_kinds", "check_settings"]


def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """E001: the dictionary DOCUMENTS has a key we do not know, or a value that is not a positive integer."""
    found: list[CheckMessage] = []
    for name, value in given().items():
        if name not in DEFAULTS:
            known = ", ".join(sorted(DEFAULTS))
            found.append(Error(f"DOCUMENTS[{name!r}] is not a setting.", hint=f"Known: {known}.", id="documents.E001"))
        elif type(value) is not int or value < 1:
            found.append(
                Error(f"DOCUMENTS[{name!r}] is {value!r}.", hint="Give a positive integer.", id="documents.E001")
            )
    return found


def check_kinds(**kwargs: Any) -> list[CheckMessage]:
    """Ask each registered kind for what is wrong with it."""
    found: list[CheckMessage] = []
    for name, kind in kinds().items():
        found += _undecided(name, kind)
        found += _too_large(name, kind)
        found += kind.check()
    return found


def _undecided(name: str, kind: DocumentKind) -> list[CheckMessage]:
    """E002: the kind does not say who may read or write."""
    return [
        Error(
            f"The kind {name!r} does not define {method}().",
            hint=f"Write {type(kind).__qualname__}.{method}(self, user, key) and return True or False.",
            obj=type(kind),
            id="documents.E002",
        )
        for method in ("can_read", "can_write")
        if getattr(type(kind), method) is getattr(DocumentKind, method)
    ]


def _too_large(name: str, kind: DocumentKind) -> list[CheckMessage]:
    """W001: a page's ordinary form could not post what this kind may hold."""
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if limit is None or kind.limits.max_bytes < limit:
        return []
    return [
        Caution(
            f"The kind {name!r} takes {kind.limits.max_bytes} bytes, Django's DATA_UPLOAD_MAX_MEMORY_SIZE is {limit}.",
            hint="Our own addresses read the larger body; a form or a proxy before them may not. Raise the setting, "
            "or silence this where your proxy's limit was looked at.",
            obj=type(kind),
            id="documents.W001",
        )
    ]
