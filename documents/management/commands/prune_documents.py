"""`manage.py prune_documents --keep 50 --older-than 90d`: old content goes, receipts stay. Stop and rerun at will."""

import argparse
import re
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand

from documents.pruning import prunable, prune

UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def age(text: str) -> timedelta:
    """Return the time that `90d`, `12h` or `4w` says."""
    match = re.fullmatch(r"(\d{1,5})([hdw])", text)
    if not match:
        message = f"{text!r} is no age; write 12h, 90d or 4w"
        raise argparse.ArgumentTypeError(message)
    return timedelta(**{UNITS[match[2]]: int(match[1])})


def count(text: str) -> int:
    """Return a number of one or more."""
    if not re.fullmatch(r"\d{1,9}", text) or int(text) < 1:
        message = f"{text!r} is no number of revisions; the head always stays, so give 1 or more"
        raise argparse.ArgumentTypeError(message)
    return int(text)


class Command(BaseCommand):
    """Prune content of old revisions."""

    help = "Take the content of old revisions. Rows, digests and save ids stay; so does what a conflict refers to."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add ours."""
        parser.add_argument("--keep", type=count, required=True, help="the newest N of each document stay whole")
        parser.add_argument("--older-than", type=age, required=True, help="younger revisions stay whole: 12h, 90d, 4w")
        parser.add_argument("--kind", default="", help="only documents of this kind")
        parser.add_argument("--dry-run", action="store_true", help="count and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prune page by page and say how much went."""
        rule = {"keep": options["keep"], "older_than": options["older_than"], "kind": options["kind"]}
        if options["dry_run"]:
            self.stdout.write(f"{prunable(**rule).count()} revisions would lose their content.")
            return
        revisions = size = 0
        for more, freed in prune(**rule):
            revisions, size = revisions + more, size + freed
            if options["verbosity"] > 1:
                self.stdout.write(f"… {revisions}")
        self.stdout.write(f"{revisions} revisions lost their content, {size} bytes.")
