"""What the peers that are Django apps share: the settings, the migrations, and the effect through Django's connection."""

import psycopg

from bench.django_site import configure
from bench.work import BODY, INSERT_EFFECT

__all__ = ["effect", "migrate_on"]


def effect(run: str, number: int) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(INSERT_EFFECT, [run, number, BODY])


def migrate_on(url: str, *apps: str, **settings: object) -> None:
    """Set Django up and make every table of these apps."""
    configure(url, *apps, **settings)
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    with psycopg.connect(url) as connection:
        connection.execute("ANALYZE")
