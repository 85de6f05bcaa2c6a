"""
Instances: claimed rows made into instances of their model.

Django's way through `from_db` and `__init__` sets each attribute by itself and sends two signals. Where nobody could tell
the difference, because the model leaves both as they are and no one listens, the values are put in place at once.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Sequence
from typing import Any

from django.db.models import JSONField, Model
from django.db.models.base import ModelState
from django.db.models.fields.related_descriptors import ForeignKeyDeferredAttribute
from django.db.models.query_utils import DeferredAttribute
from django.db.models.signals import post_init, pre_init

__all__ = ["instances_of"]

_read_json = json.JSONDecoder().raw_decode


def instances_of(model: Any, connection: Any, rows: Sequence[Sequence[Any]]) -> list[Any]:
    """
    Return an instance for each row, as a query would.

    Args:
        model: a concrete model.
        connection: the Django connection that the rows were read on.
        rows: a value for each of the model's concrete columns, in their order, as Django's cursor reads them.
    """
    using, converters = connection.alias, _converters(model, connection)
    names = [field.attname for field in model._meta.concrete_fields]
    at_once = _is_plain(model) and not pre_init.has_listeners(model) and not post_init.has_listeners(model)
    made = []
    for row in rows:
        values = list(row)
        for place, column, convert in converters:
            values[place] = convert(values[place], column, connection)
        made.append(_put_together(model, using, names, values) if at_once else model.from_db(using, names, values))
    return made


def _put_together(model: Any, using: str, names: list[str], values: list[Any]) -> Any:
    made = model.__new__(model)
    state = ModelState()
    state.db, state.adding = using, False
    made.__dict__.update(zip(names, values, strict=True), _state=state)
    return made


def _converters(model: Any, connection: Any) -> list[tuple[int, Any, Any]]:
    """Return (place, column, function) for each value that is not taken as the driver reads it."""
    kept: dict[Any, list[tuple[int, Any, Any]]] = getattr(connection, "_durable_converters", {})
    connection._durable_converters = kept
    if model not in kept:
        columns = [field.get_col(model._meta.db_table) for field in model._meta.concrete_fields]
        kept[model] = [
            (place, column, convert)
            for place, column in enumerate(columns)
            for convert in (*connection.ops.get_db_converters(column), *_field_converters(column, connection))
        ]
    return kept[model]


def _field_converters(column: Any, connection: Any) -> list[Any]:
    field = column.target
    plain = type(field) is JSONField and field.decoder is None and connection.vendor == "postgresql"
    return [_from_jsonb] if plain else column.get_db_converters(connection)


def _from_jsonb(value: str | None, column: Any, connection: Any) -> Any:
    # What jsonb is written as begins with the value itself, and nothing stands behind it.
    return [] if value == "[]" else value if value is None else _read_json(value)[0]


@functools.cache
def _is_plain(model: Any) -> bool:
    """Return whether to make an instance is to set its attributes, and to set one is to keep its value."""
    made_as_usual = (
        model.__init__ is Model.__init__
        and model.__new__ is Model.__new__
        and model.__setattr__ is Model.__setattr__
        and model.from_db.__func__ is Model.from_db.__func__  # type: ignore[attr-defined]
    )
    kept = {type(inspect.getattr_static(model, field.attname)) for field in model._meta.concrete_fields}
    return made_as_usual and kept <= {DeferredAttribute, ForeignKeyDeferredAttribute}
