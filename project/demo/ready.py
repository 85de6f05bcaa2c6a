"""Whether the demo or the development server may and can run here. If not, one sentence says what to do."""

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

__all__ = ["require_database", "require_development"]


def require_development() -> None:
    """Raise a CommandError, exit 2, where a database could be in use: open runs would be done on servers that forget."""
    if not settings.DEBUG:
        message = (
            "This is for development: it creates users with known passwords, and does the open runs of this database "
            "against local servers. Set DEBUG=true if that is what you want."
        )
        raise CommandError(message, returncode=2)


def require_database() -> None:
    """Raise a CommandError, exit 2, unless the database is there and migrated."""
    try:
        executor = MigrationExecutor(connection)
    except DatabaseError as error:
        message = f"The database does not answer ({str(error).strip().splitlines()[0]}). Is DATABASE_URL right?"
        raise CommandError(message, returncode=2) from None
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        message = "The database is not migrated. Run `manage.py migrate` first."
        raise CommandError(message, returncode=2)
