"""The models of `durable`, in one place to import them from."""

from .jobs import Job, JobManager
from .messages import Attempt, Message
from .operations import Operation
from .pauses import Topic
from .syncing import Pass

__all__ = ["Attempt", "Job", "JobManager", "Message", "Operation", "Pass", "Topic"]
