"""Long random lives of runs of every shape: fixed seeds, and a random one that is printed."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from .lives import Lives
from .subjects import SUBJECTS, Subject

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

FIXED = (1, 2, 3)
#: LIVES_SEED replays a random run of the suite.
FRESH = int(os.environ.get("LIVES_SEED") or random.SystemRandom().randrange(2**32))


def _numbered() -> Iterator[object]:
    for subject in SUBJECTS:
        for number in (*FIXED, FRESH):
            marks = [pytest.mark.long] if number in FIXED[1:] else []
            name = f"{'fresh' if number == FRESH else number}-{subject.name}"
            yield pytest.param(subject, number, id=name, marks=marks)


@pytest.mark.parametrize(("subject", "number"), list(_numbered()))
def test_no_life_breaks_a_law(subject: Subject, number: int, caplog, note):
    caplog.set_level(logging.CRITICAL, logger="durable")
    lives = 12 if subject.brief is None else 6
    note(f"{subject.name}: {lives} lives of up to 40 events, LIVES_SEED={number}")

    _live(subject, number, lives=lives)


@pytest.mark.long
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_no_life_of_a_thousand_breaks_a_law(subject: Subject, caplog, note):
    caplog.set_level(logging.CRITICAL, logger="durable")
    note(f"{subject.name}: 1000 lives of up to 40 events, LIVES_SEED={FRESH}")

    _live(subject, FRESH, lives=1_000)


def _live(subject: Subject, number: int, *, lives: int) -> None:
    machine = hypothesis.seed(number)(type(f"LivesOf{subject.name.title()}s", (Lives,), {"subject": subject}))
    # Shrinking replays the life hundreds of times on a real database: worth minutes only when somebody asks for it.
    phases = [hypothesis.Phase.generate, *([hypothesis.Phase.shrink] if os.environ.get("LIVES_SHRINK") else [])]
    settings = hypothesis.settings(
        phases=phases,
        max_examples=lives, stateful_step_count=40, deadline=None, database=None, print_blob=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(machine, settings=settings)
