"""Sparklines: counts as a small drawing, with the same told in words for whoever does not see it."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

__all__ = ["sparkline"]

_HEIGHT = 24


def sparkline(settled: Sequence[int], failed: Sequence[int], what: str) -> SafeString:
    """Return an SVG of bars, oldest first: all that was settled, and before it what was given up."""
    highest = max([*settled, *failed, 1])
    said = _("%(settled)s settled in %(what)s, %(failed)s of them given up") % {
        "settled": sum(settled), "failed": sum(failed), "what": what,
    }  # fmt: skip
    return format_html(
        '<span class="dur-spark"><svg viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<path class="dur-base" d="M0 {}H{}"/><path class="dur-bars" d="{}"/><path class="dur-bad-bars" d="{}"/></svg></span>',
        len(settled),
        _HEIGHT,
        said,
        _HEIGHT - 0.5,
        len(settled),
        _bars(settled, highest),
        _bars(failed, highest),
    )


def _bars(counts: Sequence[int], highest: int) -> str:
    parts = []
    for index, count in enumerate(counts):
        if count:
            height = max(2.0, round((_HEIGHT - 2) * count / highest, 1))
            parts.append(f"M{index + 0.1:.1f} {_HEIGHT}v-{height}h0.8v{height}z")
    return "".join(parts)
