"""The overview as a template tag, so that it needs no view of its own and stands on any admin site."""

from __future__ import annotations

from typing import Any

from django import template

from durable.admin.overview import overview

register = template.Library()


@register.inclusion_tag("admin/durable/_overview.html", takes_context=True)
def durable_overview(context: Any) -> dict[str, Any]:
    """Draw the overview of all runs, for whoever is logged in."""
    return overview(context["request"])
