"""The models of `durable`, in one place to import them from."""

from .jobs import Job, JobManager
from .messages import Attempt, Message
from .pauses import Topic
from .workers import Worker

__all__ = ["Attempt", "Job", "JobManager", "Message", "Topic", "Worker"]
