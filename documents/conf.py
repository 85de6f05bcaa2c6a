"""Settings: one dictionary, `DOCUMENTS`, every key optional. An unknown key is refused by the check documents.E001."""

from typing import Any

from django.conf import settings

DEFAULTS: dict[str, int] = {
    # Content, in bytes of UTF-8. Below DATA_UPLOAD_MAX_MEMORY_SIZE: our answer comes first and names the limit.
    "MAX_BYTES": 2_000_000,
    # Objects and lists inside each other.
    "MAX_DEPTH": 64,
    # Revisions and conflicts in one answer.
    "PAGE": 50,
    # Seconds in Retry-After when the database asks us to come again.
    "RETRY_AFTER": 1,
}


_NOTHING: dict[str, Any] = {}


def given() -> dict[str, Any]:
    """Return what the project set, as it set it."""
    return dict(getattr(settings, "DOCUMENTS", {}))


def setting(name: str) -> int:
    """Return the project's value, or ours."""
    found: int = getattr(settings, "DOCUMENTS", _NOTHING).get(name, DEFAULTS[name])
    return found
