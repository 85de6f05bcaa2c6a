"""What the workers of the crash suite run with: the suite's settings, and `DURABLE` from the environment."""

import json
import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, DURABLE, INSTALLED_APPS

DURABLE = {**DURABLE, **json.loads(os.environ.get("CRASH_DURABLE", "{}"))}
DATABASES["default"] = {**DATABASES["default"], **json.loads(os.environ.get("CRASH_DATABASE", "{}"))}
TIME_ZONE = os.environ.get("CRASH_TIME_ZONE", "UTC")
INSTALLED_APPS = [*INSTALLED_APPS, *os.environ.get("CRASH_APPS", "").split()]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler"}},
    "loggers": {"durable": {"handlers": ["stderr"], "level": "INFO"}},
}
