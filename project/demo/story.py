"""The story: put up a person, start the deletion, kill the worker, reconcile, look at everything."""

import os
import secrets
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from django.contrib.auth import get_user_model
from django.db import transaction

from project.accounts.models import AccountDeletion, SubscriptionOpening
from project.farside import FarSides, running

from .calls import calls_per_step
from .findings import Finding, after_the_kill, at_the_end
from .show import Show
from .stage import open_subscription, point_site_at, put_up
from .worker import StoryError, kill_in_step_three, reconcile

__all__ = ["StoryError", "tell"]

FILES = 240
OBJECTS = 300


def tell(show: Show) -> bool:
    """Tell the whole story; return whether everything it claims was found true."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="known-state-demo-") as name:
        folder = Path(name)
        show.part("Two servers")
        with running(folder) as far_sides:
            point_site_at(far_sides, folder / "user-files")
            os.environ["BILLING_AT_BOOT"] = "false"  # the calls below are counted: they are the deletion's alone
            show.say(f"localstripe answers at {far_sides.stripe.url}, moto's S3 at {far_sides.s3.url}")
            all_true = _tell(show, far_sides)
        show.part("End")
        show.say(f"both servers are stopped; {time.monotonic() - began:.1f} s in all")
    return all_true


def _tell(show: Show, far_sides: FarSides) -> bool:
    opening, deletion = _begin(show, far_sides)

    show.part("A worker starts, and is killed in the middle of step 3")
    pid, left = kill_in_step_three(deletion, FILES)
    show.say(f"SIGKILL to process {pid}")
    deletion.refresh_from_db()
    verdicts = _facts(show, after_the_kill(deletion, files=FILES, left=left))

    show.part("manage.py reconcile")
    code = reconcile()
    verdicts += _facts(show, [(f"manage.py reconcile ended with {code}", code == 0)])
    deletion.refresh_from_db()

    show.part("What is recorded, and what is true")
    _draw(show, far_sides, opening, deletion)
    verdicts += _facts(show, at_the_end(opening, deletion, far_sides, left=left, objects=OBJECTS))
    verdicts += _facts(show, _ask_again(deletion, far_sides))
    return all(verdicts)


def _begin(show: Show, far_sides: FarSides) -> tuple[SubscriptionOpening, AccountDeletion]:
    show.part("A person")
    name = f"ada-{secrets.token_hex(2)}"
    user = get_user_model().objects.create_user(name, f"{name}@example.org", None)
    opening = open_subscription(user, far_sides)
    put_up(user, far_sides, files=FILES, objects=OBJECTS)
    show.say(f"{name} (user {user.pk}): {opening.customer}, {opening.subscription}, {FILES} files, {OBJECTS} objects")
    with transaction.atomic():
        deletion = AccountDeletion.start_for(user)
    show.say(f"{name} asks to be deleted: run {deletion.pk}")
    return opening, deletion


def _ask_again(deletion: AccountDeletion, far_sides: FarSides) -> Iterable[Finding]:
    before = len(far_sides.stripe.calls()) + len(far_sides.s3.calls())
    is_done = deletion.run()
    after = len(far_sides.stripe.calls()) + len(far_sides.s3.calls())
    yield "run again, the settled run answers from its receipts: no further call", is_done and before == after


def _draw(show: Show, far_sides: FarSides, opening: SubscriptionOpening, deletion: AccountDeletion) -> None:
    receipts = [*opening.receipts(), *deletion.receipts()]
    show.table(
        f"Receipts of the opening ({len(opening.receipts())} steps) and of the deletion ({len(deletion.receipts())})",
        ("step", "guarantee", "when (UTC)", "by", "took", "starts"),
        (
            (
                receipt.step,
                receipt.guarantee,
                f"{receipt.at:%H:%M:%S.%f}"[:-3] if receipt.at else "-",
                receipt.owner,
                "" if receipt.took is None else f"{receipt.took:.3f} s",
                receipt.starts,
            )
            for receipt in receipts
        ),
    )
    calls = calls_per_step(far_sides, opening, deletion)
    show.table(
        "What the far sides received",
        ("step", "request", "received", "key"),
        ((call.step, call.request, call.statuses, _short(call.key)) for call in calls),
    )
    total = sum(call.received for call in calls)
    recorded = sum(receipt.at is not None for receipt in receipts)
    show.say(f"in all: {recorded} receipts, {sum(r.starts for r in receipts)} starts of a step, {total} calls received")


def _short(key: str) -> str:
    """Return a key without its kind and the beginning of the run's id, which would fill the table."""
    _, run, step = key.split(":") if key else ("", "", "")
    return f"…{run[-4:]}:{step}" if key else "-"


def _facts(show: Show, findings: Iterable[Finding]) -> list[bool]:
    verdicts = []
    for sentence, is_true in findings:
        show.fact(sentence, is_true=is_true)
        verdicts.append(is_true)
    return verdicts
