"""The models of `durable`, in one place to import them from."""

from .jobs import Job, JobManager

__all__ = ["Job", "JobManager"]
