"""
Refusals: why nothing was written, with the code a browser can act on and the sentence a person can.

A stale save is not here: it is an outcome (`Conflicted`), because the refused copy was written down.
"""

from typing import Any, ClassVar

__all__ = [
    "Busy",
    "DocumentsError",
    "Gone",
    "Invalid",
    "InvalidBody",
    "InvalidVersion",
    "NotFound",
    "SaveIdReused",
    "SchemaChanged",
    "TooLarge",
    "Unrepresentable",
    "Unresolved",
    "VersionRequired",
]


class DocumentsError(Exception):
    """Something was refused and nothing was written. Do not raise this one; raise a leaf."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 400

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details


class InvalidBody(DocumentsError):
    """The request is not JSON, or a member is missing, unknown or of the wrong type."""

    code = "invalid_body"


class InvalidVersion(DocumentsError):
    """The expected version is not an integer of zero or more."""

    code = "invalid_version"


class VersionRequired(DocumentsError):
    """A write without the version it was made on. There is no way around it."""

    code = "version_required"
    status = 428


class NotFound(DocumentsError):
    """No such kind, document, revision or conflict."""

    code = "not_found"
    status = 404


class Gone(DocumentsError):
    """The document was deleted. A save never brings it back; a restore does."""

    code = "gone"
    status = 410


class TooLarge(DocumentsError):
    """The content has more bytes than its kind allows; `limit` says how many that is."""

    code = "too_large"
    status = 413

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"The content has {size} bytes; at most {limit} are kept.", size=size, limit=limit)


class Unrepresentable(DocumentsError):
    """JSON that would not come back as it was sent. `path` is a JSON Pointer into the content."""

    code = "unrepresentable"
    status = 422

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path or 'The content'}: {why}", path=path)


class Invalid(DocumentsError):
    """The kind refused the content. `errors` lists each place (a JSON Pointer) and what is wrong there."""

    code = "invalid"
    status = 422

    def __init__(self, *errors: tuple[str, str]) -> None:
        places = [{"path": path, "message": why} for path, why in errors]
        super().__init__(
            "; ".join(f"{path or 'The content'}: {why}" for path, why in errors),
            path=places[0]["path"] if places else "",
            errors=places,
        )


class SaveIdReused(DocumentsError):
    """A save id names one save. This one was used before, for other content or by someone else."""

    code = "save_id_reused"
    status = 422


class SchemaChanged(DocumentsError):
    """The save was made by a page of another schema than the site's. Unknown fields would be lost."""

    code = "schema_changed"
    status = 409


class Unresolved(DocumentsError):
    """A merge has points that a person has not decided; `open` lists their ids."""

    code = "unresolved"
    status = 422


class Busy(DocumentsError):
    """The database asked us to come again (a lock, a serialization failure). Send the same save once more."""

    code = "busy"
    status = 503
