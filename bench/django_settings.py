"""
The settings of every contender that is a Django project: the database and the apps come from the environment.

`bench.django_site.configure()` fills it, so that child processes and management commands come up the same way.
"""

import json
import os

from psycopg.conninfo import conninfo_to_dict

_given = conninfo_to_dict(os.environ.get("BENCH_URL", ""))
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _given.get("dbname", "postgres"),
        "USER": _given.get("user", ""),
        "PASSWORD": _given.get("password", ""),
        "HOST": _given.get("host", ""),
        "PORT": str(_given.get("port", "")),
        "CONN_MAX_AGE": None,
        "OPTIONS": json.loads(os.environ.get("BENCH_OPTIONS") or "{}"),
    }
}
INSTALLED_APPS = [app for app in os.environ.get("BENCH_APPS", "").split(",") if app]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SECRET_KEY = "a bench has nothing to hide"
USE_TZ = True
TIME_ZONE = "UTC"
globals().update(json.loads(os.environ.get("BENCH_SETTINGS") or "{}"))
