"""Which database documents are in, and how often we ask it again before we say that it is busy."""

from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, OperationalError, router, transaction

from .errors import Busy
from .models import Document

__all__ = ["TRIES", "database", "patiently"]

TRIES = 3
T = TypeVar("T")


def database() -> str:
    """Return the alias that documents are written to."""
    return router.db_for_write(Document)


def patiently(attempt: Callable[[], T]) -> T:
    """Run an attempt; run it again where the database lost a race for us. Inside a transaction, run it once."""
    if transaction.get_connection(database()).in_atomic_block:
        return attempt()
    failure: Exception | None = None
    for _ in range(TRIES):
        try:
            return attempt()
        except IntegrityError as error:  # another save with our id, or the document was removed between two looks
            failure = error
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) not in ("40001", "40P01"):
                raise
            failure = error
    message = "The document is being written by many at once. Send the same save again."
    raise Busy(message) from failure
