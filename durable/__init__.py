"""
Multi-step operations whose every step leaves a receipt in your own database, in the transaction of its effect.

    from durable import step
    from durable.models import Job

Importing this touches neither the database nor the app registry.
"""

from .backoff import Backoff
from .errors import (
    AlreadyInFlight,
    DurableError,
    InsideTransaction,
    KeyConflict,
    LostLease,
    NotConfigured,
    Refused,
    RetryAfter,
    Wait,
)
from .steps import step

__all__ = [
    "AlreadyInFlight",
    "Backoff",
    "DurableError",
    "InsideTransaction",
    "KeyConflict",
    "LostLease",
    "NotConfigured",
    "Refused",
    "RetryAfter",
    "Wait",
    "step",
]
