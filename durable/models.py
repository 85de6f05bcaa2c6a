"""The models of `durable`, in one place to import them from."""

from .acknowledging import Acknowledgement
from .jobs import Job, JobManager
from .message_log import Attempt
from .messages import Message
from .operations import Operation
from .pauses import Topic
from .planned import Plan
from .records import Decision, PlanReceipt
from .syncing import Pass
from .workers import Worker

__all__ = [
    "Acknowledgement", "Attempt", "Decision", "Job", "JobManager", "Message", "Operation", "Pass", "Plan", "PlanReceipt",
    "Topic", "Worker",
]  # fmt: skip
