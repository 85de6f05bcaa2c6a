"""
Schemas: what the arguments of an action must look like, and every place where they do not.

A schema is a dataclass or a JSON Schema (draft 2020-12); a dataclass is turned into one, so the same library checks both.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

__all__ = ["Schema", "SchemaError"]

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
}


class SchemaError(TypeError):
    """A schema was declared that cannot be one. Raised when the module is imported."""


class Schema:
    """
    The schema of one action.

    Args:
        declared: a dataclass, a JSON Schema as a dictionary, or None: any JSON object.

    Raises:
        SchemaError: it is neither, or has a part that cannot be checked.
    """

    def __init__(self, declared: Any) -> None:
        self._made = declared if isinstance(declared, type) and dataclasses.is_dataclass(declared) else None
        if self._made is not None:
            self.document = _of_dataclass(self._made)
        elif declared is None:
            self.document = {"type": "object"}
        elif isinstance(declared, Mapping):
            self.document = dict(declared)
        else:
            message = f"a schema is a dataclass or a JSON Schema as a dictionary, not {declared!r:.120}"
            raise SchemaError(message)
        self._validator: Any = None
        if self._made is None and declared is not None:
            self._check_itself()

    def faults(self, args: Any) -> list[tuple[str, str]]:
        """Return (place, what is wrong there) for every fault of those arguments."""
        found = sorted(self._checker().iter_errors(args), key=lambda error: [str(part) for part in error.absolute_path])
        return [
            ("args" + "".join(f"[{part!r}]" for part in error.absolute_path), error.message[:500]) for error in found
        ]

    def build(self, args: Any) -> Any:
        """Return what the action is called with: an instance of the dataclass, or the arguments as they are."""
        return args if self._made is None else _build(self._made, args)

    def _checker(self) -> Any:
        if self._validator is None:
            # Only here: importing it takes as long as importing the rest of durable.
            from jsonschema import Draft202012Validator
            from referencing import Registry

            # An empty registry: a schema must not make us fetch another one from somewhere.
            checker = Draft202012Validator.FORMAT_CHECKER
            self._validator = Draft202012Validator(self.document, format_checker=checker, registry=Registry())
        return self._validator

    def _check_itself(self) -> None:
        from jsonschema import Draft202012Validator, exceptions

        try:
            Draft202012Validator.check_schema(self.document)
        except exceptions.SchemaError as error:
            message = f"the JSON Schema is not one: {error.message[:300]}"
            raise SchemaError(message) from error


def _of_dataclass(model: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(model, include_extras=True)
    needed, properties = [], {}
    for field in dataclasses.fields(model):
        properties[field.name] = _of_type(hints[field.name], f"{model.__name__}.{field.name}")
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            needed.append(field.name)
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _of_type(hint: Any, place: str) -> dict[str, Any]:
    plain = next((document for one, document in _PLAIN.items() if one is hint), None)  # a hint may have no hash
    if plain is not None:
        return dict(plain)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _of_dataclass(hint)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:  # further keywords of JSON Schema: Annotated[str, {"maxLength": 200}]
        more = [extra for extra in hint.__metadata__ if isinstance(extra, Mapping)]
        return {key: value for part in (_of_type(parts[0], place), *more) for key, value in part.items()}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_of_type(part, place) for part in parts]}
    if origin is typing.Literal:
        return {"enum": list(parts)}
    if origin is list and len(parts) == 1:
        return {"type": "array", "items": _of_type(parts[0], place)}
    if origin is dict and len(parts) == 2 and parts[0] is str:
        return {"type": "object", "additionalProperties": _of_type(parts[1], place)}
    if hint is list or hint is dict:
        return {"type": "array" if hint is list else "object"}
    message = (
        f"{place} is {hint!r}, which JSON does not have. Use str, int, float, bool, None, list[…], dict[str, …], "
        "Literal, a union of them, or another dataclass; send dates and ids as text."
    )
    raise SchemaError(message)


def _build(hint: Any, value: Any) -> Any:
    """Turn what fits the schema into instances; everything else stays as it is."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return hint(**{name: _build(hints[name], part) for name, part in value.items()})
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is int and isinstance(value, float):
        return int(value)  # 3.0 is an integer to JSON Schema
    if origin is list and isinstance(value, list):
        return [_build(parts[0], part) for part in value]
    if origin is dict and isinstance(value, dict):
        return {name: _build(parts[1], part) for name, part in value.items()}
    if origin in (typing.Union, types.UnionType):
        fits = next((part for part in parts if _fits(part, value)), None)
        return value if fits is None else _build(fits, value)
    return value


def _fits(hint: Any, value: Any) -> bool:
    from jsonschema import Draft202012Validator

    return bool(Draft202012Validator(_of_type(hint, "")).is_valid(value))
