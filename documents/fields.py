"""
Model fields as JSON, and back: equal after the round trip, or refused with the field's name.

Decimals, dates, durations and UUIDs are text; a foreign key is the key of its target; an integer beyond 2^53-1 is text.
"""

import datetime as dt
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _

from .strict import SAFE

__all__ = ["from_json", "supported", "to_json"]

_TEXT_ONLY = (models.CharField, models.TextField)


def supported(field: Any) -> str:
    """Return why this field cannot be part of a document, or ""."""
    if not getattr(field, "concrete", False) or field.many_to_many:
        return "it has no column of its own"
    if isinstance(field, models.FileField | models.BinaryField):
        return "its content is not text"
    if field.primary_key:
        return "it is the primary key"
    if not field.editable or getattr(field, "generated", False):
        return "it is not editable"
    return ""


def to_json(field: Any, instance: models.Model) -> Any:
    """Return the field's value on this row as JSON."""
    value = field.value_from_object(instance)
    if value is None or isinstance(field, models.JSONField):
        return value
    if isinstance(field, models.DecimalField):
        return f"{value:.{field.decimal_places}f}"
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).isoformat()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE:
        return str(value)
    if isinstance(value, str | int | float):
        return value
    return field.value_to_string(instance)


def from_json(field: Any, value: Any, instance: models.Model) -> Any:
    """Return the Python value to store. Raise Django's ValidationError."""
    if isinstance(field, models.JSONField) or value is None:
        return field.clean(value, instance)
    target = field.target_field if field.is_relation else field
    if not isinstance(value, _allowed(target)) or (
        isinstance(value, bool) and not isinstance(target, models.BooleanField)
    ):
        raise ValidationError(_("a %s does not belong here") % type(value).__name__)
    cleaned = field.clean(value, instance)
    if isinstance(cleaned, dt.datetime) and cleaned.tzinfo is None and settings.USE_TZ:
        raise ValidationError(_("the time zone is missing (…+00:00)"))
    return cleaned


def _allowed(field: Any) -> tuple[type, ...]:
    if isinstance(field, models.BooleanField):
        return (bool,)
    if isinstance(field, models.IntegerField):
        return (int, str)
    if isinstance(field, models.FloatField):
        return (int, float)
    if isinstance(field, models.DecimalField):
        return (int, str)
    return (str,)
