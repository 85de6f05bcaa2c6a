"""`manage.py reconcile`: carry on what a crash interrupted, at boot, from cron, or for ever with --watch."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from durable import kinds
from durable.reports import describe, list_open, plan
from durable.session import run_session

_EPILOG = """\
exit status: 0 everything is settled or waits for its time; 1 something failed or is stuck; 2 wrong use, or a database
that cannot be used. Safe from cron and from many hosts at once.
"""


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 10**7:
        message = f"{text!r} is not a number of seconds from 0 up"
        raise ArgumentTypeError(message)
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        message = f"{text!r} is not a whole number from 1 to 1000"
        raise ArgumentTypeError(message)
    return int(text)


def _limit(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        message = f"{text!r} is not a whole number from 1 up"
        raise ArgumentTypeError(message)
    return int(text)


#: What each way of using the command takes besides --format; without one of them it is a boot pass, which takes the rest.
_GOES_WITH: dict[str, set[str]] = {
    "watch": {"kind", "threads"},
    "list": {"kind"},
    "dry_run": {"kind", "due_only"},
    "explain": set(),
}


def _refuse_clashes(options: dict[str, Any]) -> None:
    given = [name for name in (*_GOES_WITH, "kind", "threads", "limit", "wait", "due_only") if options[name]]
    for way, others in _GOES_WITH.items():
        clashing = [f"--{name.replace('_', '-')}" for name in given if name != way and name not in others]
        if way in given and clashing:
            message = f"--{way.replace('_', '-')} does not go with {', '.join(clashing)}"
            raise CommandError(message, returncode=2)


class Command(BaseCommand):
    help = "Carry on every durable run that was interrupted or is due, from its receipts."
    requires_system_checks = "__all__"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.epilog = _EPILOG
        parser.add_argument("--watch", action="store_true", help="keep running: take runs as they become due")
        parser.add_argument("--threads", type=_count, metavar="N", help="runs in flight at a time (default: THREADS)")
        parser.add_argument(
            "--kind",
            action="append",
            default=[],
            help="only this kind, pass, topic or kind of operation; may be given several times",
        )
        parser.add_argument("--limit", type=_limit, metavar="N", help="stop after N runs")
        parser.add_argument("--wait", type=_seconds, metavar="SECONDS", help="wait so long for leases of lost workers")
        parser.add_argument("--due-only", action="store_true", help="leave runs alone whose backoff has not passed")
        parser.add_argument("--dry-run", action="store_true", help="say what would be taken, and take nothing")
        parser.add_argument("--list", action="store_true", help="list the open runs, and take nothing")
        parser.add_argument(
            "--explain", nargs=2, metavar=("KIND", "ID"), help="say in a sentence what one run is doing"
        )
        parser.add_argument("--format", choices=["text", "json"], default="text", help="json: one document on stdout")

    def execute(self, *args: Any, **options: Any) -> Any:
        # Here, not in handle(): the system checks of newer Djangos look at the databases before it is called.
        try:
            return super().execute(*args, **options)
        except kinds.UNUSABLE as error:
            raise CommandError(kinds.what_is_unusable(error), returncode=2) from error

    def handle(self, *args: Any, **options: Any) -> None:
        _refuse_clashes(options)
        try:
            models, lanes = kinds.chosen(options["kind"]) if options["kind"] else (kinds.registered(), {})
            if options["explain"]:
                self._print(describe(*options["explain"]), options)
            elif options["list"]:
                self._print(list_open(models), options)
            elif options["dry_run"]:
                self._print(plan(models, due_only=options["due_only"]), options)
            else:
                self._reconcile(models, lanes, options)
        except kinds.UnknownKind as error:
            raise CommandError(str(error), returncode=2) from error

    def _reconcile(self, models: list[type[Any]], lanes: Any, options: dict[str, Any]) -> None:
        result = run_session(
            models,
            lanes=lanes,
            watch=options["watch"],
            threads=options["threads"],
            limit=options["limit"],
            wait=options["wait"] or 0.0,
            due_only=options["due_only"],
            out=self.stderr if options["format"] == "json" else self.stdout,
            quiet=options["verbosity"] == 0,
        )
        if options["format"] == "json":
            self.stdout.write(json.dumps(result.as_json(), indent=2))
        if result.failed:
            raise SystemExit(1)

    def _print(self, answer: Any, options: dict[str, Any]) -> None:
        if options["format"] == "json":
            self.stdout.write(json.dumps(answer.as_json(), indent=2))
        else:
            self.stdout.write(answer.as_text())
