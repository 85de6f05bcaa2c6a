"""The table of mutants fits the source and the suite there is; `python -m tests.mutation` carries it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from .mutants import MUTANTS, NOTHING, PREPARED

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("name", [name for name in MUTANTS if name != NOTHING])
def test_a_mutant_changes_text_that_is_there_and_names_tests_that_are_there(name: str):
    mutant = MUTANTS[name]
    source = (ROOT / f"{mutant.module.replace('.', '/')}.py").read_text(encoding="utf-8")

    for old, new in (*PREPARED.get(mutant.module, ()), *mutant.changes):
        assert old in source, f"stale: {old!r}"
        source = source.replace(old, new)

    compile(source, mutant.module, "exec")
    assert mutant.tests
    for test in mutant.tests:
        path, _, function = test.partition("::")
        assert not function or f"def {function.partition('[')[0]}(" in (ROOT / path).read_text(encoding="utf-8")
