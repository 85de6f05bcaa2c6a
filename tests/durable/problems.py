"""Problems: what a system check found, by its id."""

from django.core.checks import Error
from django.core.checks import Warning as Surprise


def named(problems, ident: str):
    [problem] = [problem for problem in problems if problem.id == ident]
    assert problem.hint
    assert isinstance(problem, Error if ident[8] == "E" else Surprise)
    return problem
