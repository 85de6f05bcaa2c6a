"""Set Django up in a contender's process: before this call nothing of Django has been read."""

import json
import os

__all__ = ["configure"]


def configure(url: str, *apps: str, **settings: object) -> None:
    """Set Django up on this database with these apps; extra settings must be JSON."""
    os.environ["BENCH_URL"] = url
    os.environ["BENCH_APPS"] = ",".join(apps)
    os.environ["BENCH_SETTINGS"] = json.dumps(settings)
    os.environ["DJANGO_SETTINGS_MODULE"] = "bench.django_settings"
    import django

    django.setup()
