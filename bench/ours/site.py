"""Our Django project, in a process of its own and on the contender's database."""

import logging
from collections.abc import Mapping
from types import ModuleType

import psycopg

from bench.django_site import configure
from bench.work import EFFECTS

__all__ = ["configured", "made"]


def configured(url: str, options: Mapping[str, object] | None = None, **settings: object) -> ModuleType:
    """Set Django up and return the models of the bench."""
    configure(url, "durable", "bench.ours", options=options, **settings)
    logging.getLogger("durable").setLevel(logging.ERROR)
    from bench.ours import models

    return models


def made(url: str, options: Mapping[str, object] | None = None, **settings: object) -> ModuleType:
    """The same with every table made, as `migrate` makes them."""
    models = configured(url, options, **settings)
    from django.core.management import call_command

    call_command("migrate", run_syncdb=True, verbosity=0)
    with psycopg.connect(url) as connection:
        connection.execute(EFFECTS)
    return models
