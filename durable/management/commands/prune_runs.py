"""`manage.py prune_runs --older-than 90d`: delete settled runs nobody needs any more."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from durable import kinds
from durable.pruning import parse_age, prune


def _age(text: str) -> float:
    try:
        return parse_age(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


class Command(BaseCommand):
    help = "Delete settled durable runs older than an age. Open runs are never deleted."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--older-than", type=_age, required=True, metavar="AGE", help="90d, 12h, 30m, 2w")
        parser.add_argument("--kind", action="append", default=[], help="only this kind; may be given several times")
        parser.add_argument("--dry-run", action="store_true", help="count, and delete nothing")

    def execute(self, *args: Any, **options: Any) -> Any:
        # Here, not in handle(): the system checks of newer Djangos look at the databases before it is called.
        try:
            return super().execute(*args, **options)
        except kinds.UNUSABLE as error:
            raise CommandError(kinds.what_is_unusable(error), returncode=2) from error

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            models = [kinds.find(name) for name in options["kind"]] or kinds.registered()
            for model in models:
                count = prune(model, options["older_than"], dry_run=options["dry_run"])
                verb = "would be deleted" if options["dry_run"] else "deleted"
                self.stdout.write(f"{kinds.name_of(model)}: {count} settled run(s) {verb}")
        except kinds.UnknownKind as error:
            raise CommandError(str(error), returncode=2) from error
