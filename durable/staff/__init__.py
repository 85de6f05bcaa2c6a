"""
Staff: what they may decide about a run, as values that a shape lists and a page shows.

A shape says what it allows in `staff_decisions()`; the admin draws a button for each that is lawful now, asks for confirmation
in the decision's own words, and carries it out as one conditional UPDATE on the run as the person saw it.
"""

from .common import common, next_worker
from .of_jobs import of_jobs
from .of_messages import of_messages
from .of_operations import of_operations
from .of_passes import of_passes
from .of_plans import of_plans
from .value import Asked, Decision, Question, about_receipts, about_repeats

__all__ = [
    "Asked", "Decision", "Question", "about_receipts", "about_repeats", "common", "next_worker", "of_jobs", "of_messages",
    "of_operations", "of_passes", "of_plans",
]  # fmt: skip
