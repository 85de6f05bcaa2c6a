"""Every interleaving of short programs on one run, judged after every event. S1, S2, S3, S6 and S7 of the design."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from .exploring import explore
from .programs import PROGRAMS, Program
from .stage import Stage
from .subjects import SUBJECTS, Subject

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def _scenarios() -> Iterator[object]:
    for subject in SUBJECTS:
        for program in PROGRAMS:
            for story in subject.stories:
                name = f"{subject.name}-{program.name}-{'+'.join(story)}".replace(" ", "_")
                played = subject.brief is None or {program.name, f"{program.name}: {'+'.join(story)}"} & subject.brief
                left_out = subject.brief is None and bool(program.brief) and not program.brief.issuperset(story)
                long = len(story) > program.most_steps or not played or left_out
                marks = [pytest.mark.long] if long else []
                yield pytest.param(subject, program, story, id=name, marks=marks)


@pytest.fixture
def stage(request, caplog) -> Iterator[Stage]:
    caplog.set_level(logging.CRITICAL, logger="durable")  # thousands of lost leases are no news here
    stage = Stage(request.getfixturevalue("subject"), hands=4)
    yield stage
    stage.close()


@pytest.mark.parametrize(("subject", "program", "story"), list(_scenarios()))
def test_no_interleaving_breaks_a_law(stage: Stage, subject: Subject, program: Program, story: tuple[str, ...], report):
    def make():
        run = subject.make()
        program.prepare(run, story)
        return run

    with subject.deployed(story):
        found = explore(stage, program.parts, make, slow=program.slow)

    report(found)
    assert found.complete
