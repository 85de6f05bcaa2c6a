"""The example site's settings plus the suite's own app; the database comes from tests/postgres.py."""

import os

from project.settings import *  # noqa: F403
from project.settings import DATABASES, INSTALLED_APPS

DEBUG = False
SECRET_KEY = "tests"
BILLING_AT_BOOT = False  # a boot pass of the suite is about its own runs
INSTALLED_APPS = [*INSTALLED_APPS, "tests.app", "tests.crash.app", "tests.conformance", "tests.docs_app"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, not memory: threads and child processes open it too.
    DATABASES["default"]["TEST"] = {"NAME": str(DATABASES["default"]["NAME"]) + ".test"}
elif "SUITE_PART" in os.environ:  # parts of the suite run side by side, on one server where DATABASE_URL names it
    DATABASES["default"]["TEST"] = {"NAME": f"test_{DATABASES['default']['NAME']}_{os.environ['SUITE_PART']}"}

SILENCED_SYSTEM_CHECKS = ["documents.W001"]  # the suite's kind `big` is larger than a form on purpose

# The pages are tested from the sources; nothing collects static files for the suite.
WHITENOISE_AUTOREFRESH = True
WHITENOISE_USE_FINDERS = True
