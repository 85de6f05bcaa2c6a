"""
Patching: one change to the source of `durable`, made while Python imports it. No file is touched.

Used as a pytest plugin: the environment says which mutant this process is.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from types import CodeType
from typing import Any

from .mutants import MUTANTS, PREPARED, Mutant

__all__ = ["Stale"]


class Stale(Exception):
    """The source no longer has the text that the mutant replaces: the mutant must be written anew."""


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from changed source, past every cache."""

    changes: tuple[tuple[str, str], ...] = ()

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_source(fullname) or ""
        for old, new in self.changes:
            if old not in source:
                raise Stale(f"{fullname} has no {old!r}")
            source = source.replace(old, new)
        return compile(source, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._changes: dict[str, tuple[tuple[str, str], ...]] = dict(PREPARED)
        self._changes[mutant.module] = (*self._changes.get(mutant.module, ()), *mutant.changes)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        changes = self._changes.get(fullname)
        if not changes:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None or spec.origin is None:
            return None
        spec.loader = _Loader(fullname, spec.origin)
        spec.loader.changes = changes
        return spec


_name = os.environ.get("MUTANT", "")
if _name:
    sys.meta_path.insert(0, _Finder(MUTANTS[_name]))
