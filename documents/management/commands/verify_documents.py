"""`manage.py verify_documents`: exit 0 and a count, or exit 1 and a line for each thing that is wrong."""

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand

from documents.models import Document
from documents.verifying import problems


class Command(BaseCommand):
    """Verify the tables."""

    help = "Check that versions are contiguous, heads agree, and every text has its digest. Changes nothing."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add ours."""
        parser.add_argument("--kind", default="", help="only documents of this kind")
        parser.add_argument(
            "--no-texts", action="store_true", help="do not read contents: quick, and no digest is checked"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print each problem; exit 1 if there was one."""
        found = 0
        for sentence in problems(kind=options["kind"], texts=not options["no_texts"]):
            self.stderr.write(sentence)
            found += 1
        if found:
            self.stderr.write(f"{found} problems.")
            sys.exit(1)
        documents = Document.objects.filter(kind=options["kind"]) if options["kind"] else Document.objects.all()
        self.stdout.write(f"{documents.count()} documents are as they should be.")
