"""Every interleaving of short programs on one run, judged after every event. S1, S2, S3, S6 and S7 of the design."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .exploring import explore
from .programs import PROGRAMS, Program
from .stage import Stage
from .subjects import SUBJECTS, Subject

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

SHORT = [
    pytest.param(subject, program, story, id=f"{subject.name}-{program.name}-{'+'.join(story)}".replace(" ", "_"))
    for subject in SUBJECTS
    for program in PROGRAMS
    for story in subject.stories
    if len(story) <= program.most_steps
]


@pytest.fixture
def stage(request) -> Iterator[Stage]:
    stage = Stage(request.getfixturevalue("subject"), hands=4)
    yield stage
    stage.close()


@pytest.mark.parametrize(("subject", "program", "story"), SHORT)
def test_no_interleaving_breaks_a_law(stage: Stage, subject: Subject, program: Program, story: tuple[str, ...]):
    def make():
        run = subject.make()
        program.prepare(run, story)
        return run

    with subject.deployed(story):
        found = explore(stage, program.parts, make)

    print(f"\n{subject.name}: {program.name}, {' '.join(story)}: {found}")
    assert found.complete
