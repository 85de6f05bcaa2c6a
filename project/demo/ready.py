"""Whether this site can run at all: the database answers and is migrated. If not, one sentence says what to do."""

from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

__all__ = ["require_database"]


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
