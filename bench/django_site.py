"""Set Django up in a contender's process: before this call nothing of Django has been read."""

import json
import os
from collections.abc import Mapping

__all__ = ["PREPARED", "configure"]

#: Django's own switch for prepared statements. It needs a session for each client, so it is off by default.
PREPARED = {"prepare_threshold": 2, "server_side_binding": True}


def configure(url: str, *apps: str, options: Mapping[str, object] | None = None, **settings: object) -> None:
    """Set Django up on this database with these apps and database options; extra settings must be JSON."""
    os.environ["BENCH_URL"] = url
    os.environ["BENCH_APPS"] = ",".join(apps)
    os.environ["BENCH_OPTIONS"] = json.dumps(dict(options or {}))
    os.environ["BENCH_SETTINGS"] = json.dumps(settings)
    os.environ["DJANGO_SETTINGS_MODULE"] = "bench.django_settings"
    import django

    django.setup()
