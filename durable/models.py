"""The models of `durable`, in one place to import them from."""

from .jobs import Job, JobManager
from .messages import Attempt, Message
from .pauses import Topic
from .planned import Plan
from .records import Decision, PlanReceipt

__all__ = ["Attempt", "Decision", "Job", "JobManager", "Message", "Plan", "PlanReceipt", "Topic"]
