"""Badges: where a run stands as a mark, a colour and a word; the word alone would do."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from durable.standing import Standing, standing, word

__all__ = ["MARKS", "TONES", "badge"]

#: A mark that is not another's, for whoever does not see the colour.
MARKS = {
    Standing.DUE: "○",
    Standing.WAITING: "◔",
    Standing.RUNNING: "●",
    Standing.REMOTE: "◐",
    Standing.LAPSED: "◌",
    Standing.ORPHANED: "◌",
    Standing.DECISION: "?",
    Standing.DONE: "✓",
    Standing.DEAD: "✗",
    Standing.SETTLED: "–",
}

TONES = {
    Standing.DUE: "quiet",
    Standing.WAITING: "quiet",
    Standing.RUNNING: "busy",
    Standing.REMOTE: "busy",
    Standing.LAPSED: "warn",
    Standing.ORPHANED: "warn",
    Standing.DECISION: "warn",
    Standing.DONE: "good",
    Standing.DEAD: "bad",
    Standing.SETTLED: "quiet",
}


def badge(run: Any, now: datetime) -> SafeString:
    """Return the run's badge as HTML."""
    at = standing(run, now)
    tone = "bad" if run.status == "failed" else TONES[at]
    return format_html(
        '<span class="dur-badge dur-{}"><span aria-hidden="true">{}</span> {}</span>', tone, MARKS[at], word(run, now)
    )
