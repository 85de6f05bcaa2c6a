"""
Emptying: after a test that commits, the tables it wrote to are emptied, and only those.

Django's own flush empties every table there is and makes all content types and permissions again: most of a second for
each test of this suite, on two databases. What it would leave behind and what this leaves behind is the same.
"""

import functools

from django.core.management import call_command
from django.db import DatabaseError, connections, transaction
from django.test import TransactionTestCase

#: What a migration fills, and no test of ours writes to.
KEPT = {"django_migrations", "django_content_type", "auth_permission"}


def pytest_configure(config) -> None:
    TransactionTestCase._fixture_teardown = _empty_all


def _empty_all(case) -> None:
    for alias in case._databases_names(include_mirrors=False):
        try:
            with transaction.atomic(using=alias):
                _empty(connections[alias], tuple(case.available_apps or ()))
        except DatabaseError:  # a test took a table away: Django looks which are there
            call_command("flush", verbosity=0, interactive=False, database=alias)


def _empty(connection, apps: tuple[str, ...]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_which_have_rows(connection.alias, connection.settings_dict["NAME"], apps))
        written = [f'"{row[0]}"' for row in cursor.fetchall()]
        if written and connection.vendor == "postgresql":
            cursor.execute(f"TRUNCATE {', '.join(written)} CASCADE")
        else:  # foreign keys are checked at COMMIT
            for table in written:
                cursor.execute(f"DELETE FROM {table}")


@functools.cache
def _which_have_rows(alias: str, database: str, apps: tuple[str, ...]) -> str:
    """Return the question for one database, in the project that has these apps alone; none: all."""
    tables = connections[alias].introspection.django_table_names(only_existing=True, include_views=False)
    return " UNION ALL ".join(
        f"""SELECT '{table}' WHERE EXISTS (SELECT 1 FROM "{table}")""" for table in tables if table not in KEPT
    )
