"""Rows: a content as the places a person compares, each with an id, a label and a text."""

from collections.abc import Iterator
from typing import Any

from .door import dump

__all__ = ["Cell", "rows_of", "shown"]

Cell = tuple[str, str, str]  # id, label, text


def rows_of(content: Any, shape: Any) -> list[Cell]:
    """Return id, label and text of each attribute, or of each leaf where the kind has no attributes."""
    if shape is None:
        return [(path, path or "(all)", shown(leaf)) for path, leaf in _leaves(content, "")]
    values, order = shape.split(content)
    return [(name, name[1:], shown(values[name])) for name in order]


def shown(value: Any) -> str:
    """Return a value as a person reads it: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else dump(value)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}/{index}")
    else:
        yield path, value
