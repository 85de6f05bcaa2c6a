"""
Kinds: what a sort of document is called, who may touch it, and what it accepts.

A kind is declared in an app's `documents.py` and found from there when Django starts:

    @documents.register("sheet")
    class Sheet(documents.DocumentKind):
        def can_read(self, user, key): ...
        def can_write(self, user, key): ...

Who may read and who may write have no default: the author of a kind says so.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured

from .conf import setting
from .errors import NotFound
from .rows import Cell, rows_of
from .strict import Limits

if TYPE_CHECKING:  # the models can't be imported while apps are loading, and kinds are declared then
    from .change import Change

__all__ = ["DocumentKind", "kind_named", "kinds", "register"]


class Swap(Protocol):
    """swapping.swap."""

    def __call__(self, change: "Change", *, using: str) -> "int | None": ...


class Merging(Protocol):
    """
    How a kind's content falls into attributes, and comes together again. See merging.py.

    A property `patch` tells a page how to name them (ByKey.patch); without it a page sends no patch.
    """

    def split(self, content: Any) -> tuple[dict[str, Any], list[str]]: ...

    def join(self, values: dict[str, Any], order: list[str]) -> Any: ...


class DocumentKind:
    """One sort of document. Subclass it; the registered instance lives as long as the process."""

    name: str = ""
    schema: ClassVar[int] = 1  # add 1 when pages of the old release would lose fields of the new one
    max_bytes: ClassVar[int | None] = None  # None: the setting MAX_BYTES
    big_integers: ClassVar[bool] = False  # True: integers beyond 2⁵³-1 are kept; your pages must read them as text
    login_required: ClassVar[bool] = True  # False: can_read and can_write are asked about anonymous users too
    exact_text: ClassVar[bool] = True  # False: text is always written anew from what clean() returned
    merge: ClassVar[Merging | None] = None  # None: never merged, by nobody

    def can_read(self, user: Any, key: str) -> bool:
        """Say whether this user may see this document, its history and its own conflicts."""
        raise NotImplementedError

    def can_write(self, user: Any, key: str) -> bool:
        """Say whether this user may save this document."""
        raise NotImplementedError

    def can_delete(self, user: Any, key: str) -> bool:
        """Say whether this user may delete this document. Nobody, unless the kind says otherwise."""
        return False

    def clean(self, content: Any) -> Any:
        """
        Return the content to store, or raise `documents.Invalid(("/path", "why"), …)` or Django's ValidationError.

        Called before any transaction and for every door: page, admin, script, restore, settlement.
        """
        return content

    def retry_after(self, user: Any, key: str) -> int | None:
        """Return seconds to wait where this user has saved too often, or None. Asked before each HTTP save."""
        return None

    def rows(self, content: Any) -> list[Cell]:
        """Return what a person compares, in order: id (as in merging), label and text of each cell or attribute."""
        return rows_of(content, self.merge)

    def check(self) -> list[CheckMessage]:
        """Return what is wrong with this declaration, for Django's system checks."""
        return []

    def before_read(self, key: str) -> None:
        """Bring in what happened outside of documents. Nothing, for content that lives nowhere else."""

    def swap(self, change: "Change", swap: "Swap", *, using: str) -> "int | None":
        """Write the change, and in the same transaction whatever else this kind keeps of it."""
        return swap(change, using=using)

    @property
    def limits(self) -> Limits:
        """What the JSON door lets through for this kind."""
        return Limits(
            max_bytes=self.max_bytes or setting("MAX_BYTES"),
            max_depth=setting("MAX_DEPTH"),
            big_integers=self.big_integers,
        )


_kinds: dict[str, DocumentKind] = {}
K = TypeVar("K", bound=DocumentKind)


def register(name: str) -> Callable[[type[K]], type[K]]:
    """Register a kind under the name in its addresses and rows. Raise ImproperlyConfigured if it is taken."""

    def add(cls: type[K]) -> type[K]:
        if not name or "/" in name or len(name) > 64:
            message = f"{cls.__qualname__}: {name!r} cannot be the name of a kind."
            raise ImproperlyConfigured(message)
        other = _kinds.get(name)
        if other is not None and _place(type(other)) != _place(cls):
            message = f"{cls.__qualname__}: the kind {name!r} is already {_place(type(other))}."
            raise ImproperlyConfigured(message)
        instance = cls()
        instance.name = name
        _kinds[name] = instance
        return cls

    return add


def _place(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def kind_named(name: str) -> DocumentKind:
    """Return the kind of that name. Raise NotFound."""
    try:
        return _kinds[name]
    except KeyError:
        message = f"There is no kind {name!r} on this site."
        raise NotFound(message) from None


def kinds() -> dict[str, DocumentKind]:
    """Return every registered kind by name."""
    return dict(_kinds)
