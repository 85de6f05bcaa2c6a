"""
Versioned documents: every save names the version it was made on; a stale one is refused and kept; a person settles it.

    outcome = documents.save("sheet", "budget", {"A1": "=1+1"}, expected_version=3, by=user)

Kinds are declared with what is imported here; nothing here imports a model before the registry is ready.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    Busy,
    DocumentsError,
    Gone,
    Invalid,
    InvalidVersion,
    NotFound,
    SaveIdReused,
    SchemaChanged,
    TooLarge,
    Unrepresentable,
    Unresolved,
    VersionRequired,
)
from .kinds import DocumentKind, register
from .merging import ByAttribute, ByKey
from .modelkinds import ModelKind

if TYPE_CHECKING:
    from .history import delete, restore
    from .outcomes import Conflicted, Moved, MovedOn, Replayed, Saved, Settled, SettledBefore
    from .reading import read
    from .saving import save
    from .settling import settle

__all__ = [
    "Busy",
    "ByAttribute",
    "ByKey",
    "Conflicted",
    "DocumentKind",
    "DocumentsError",
    "Gone",
    "Invalid",
    "InvalidVersion",
    "ModelKind",
    "Moved",
    "MovedOn",
    "NotFound",
    "Replayed",
    "SaveIdReused",
    "Saved",
    "SchemaChanged",
    "Settled",
    "SettledBefore",
    "TooLarge",
    "Unrepresentable",
    "Unresolved",
    "VersionRequired",
    "delete",
    "read",
    "register",
    "restore",
    "save",
    "settle",
]

# Names that need the models; found on first use.
_LATER = {
    "Conflicted": "outcomes",
    "Moved": "outcomes",
    "MovedOn": "outcomes",
    "Replayed": "outcomes",
    "Saved": "outcomes",
    "Settled": "outcomes",
    "SettledBefore": "outcomes",
    "delete": "history",
    "read": "reading",
    "restore": "history",
    "save": "saving",
    "settle": "settling",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
