"""
Terminal: the reports' answers as a table in colour where rich is installed and somebody looks, as plain lines elsewhere.

What a run says of itself was written by strangers: no control character of theirs reaches the terminal.
"""

from __future__ import annotations

import io
import shutil
from typing import Any

from django.utils.translation import gettext as _

from .standing import Standing

__all__ = ["printable", "render"]

_COLOURS = {
    Standing.DONE: "green",
    Standing.RUNNING: "cyan",
    Standing.DEAD: "bold red",
    Standing.LAPSED: "yellow",
    Standing.ORPHANED: "yellow",
    Standing.DECISION: "yellow",
}
_BAR = 10


def render(answer: Any, out: Any) -> str:
    """Return an answer as text for that stream: a `reports.Answer`, and a stream with or without `isatty`."""
    text = printable(answer.as_text())
    if not getattr(out, "isatty", bool)() or not answer.rows:
        return text
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return text
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=True, width=shutil.get_terminal_size((100, 24)).columns)
    for line in answer.heading:
        console.print(Text(printable(line)))
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in answer.titles:
        table.add_column(str(title), overflow="fold")
    for row in answer.rows:
        table.add_row(*(_cell(value, Text) for value in row))
    console.print(table)
    for line in answer.footing:
        console.print(Text(printable(line), style="red"))
    return buffer.getvalue().rstrip("\n")


def printable(text: str) -> str:
    """Return the text with control characters written out, so that an error cannot steer somebody's terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _cell(value: Any, text: Any) -> Any:
    if isinstance(value, tuple) and isinstance(value[0], Standing):
        return text(printable(value[1]), style=_COLOURS.get(value[0], ""))
    if isinstance(value, tuple):
        done, every = value
        filled = round(_BAR * done / every) if every else _BAR
        said = _("%(done)s of %(all)s") % {"done": done, "all": every}
        return text.assemble(("━" * filled, "cyan"), ("━" * (_BAR - filled), "dim"), f" {said}")
    return text(printable(str(value)))
