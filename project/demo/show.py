"""What the demo prints: with rich where it is installed, in plain lines where it is not."""

from collections.abc import Iterable, Sequence

try:
    from rich.console import Console
    from rich.table import Table
except ImportError:
    Console = None

__all__ = ["Show", "show"]


class Show:
    """Plain text, readable in a log."""

    def part(self, title: str) -> None:
        print(f"\n== {title}", flush=True)

    def say(self, sentence: str) -> None:
        print(f"   {sentence}", flush=True)

    def fact(self, sentence: str, *, is_true: bool) -> None:
        print(f"   {'ok   ' if is_true else 'WRONG'} {sentence}", flush=True)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        cells = [list(columns), *([str(cell) for cell in row] for row in rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(columns))]
        print(f"\n   {title}")
        for row in cells:
            print("   " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


class RichShow(Show):
    """The same in colour, for a terminal."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)

    def part(self, title: str) -> None:
        self.console.print(f"\n[bold]{title}[/]")

    def say(self, sentence: str) -> None:
        self.console.print(sentence, style="dim", markup=False, soft_wrap=True)

    def fact(self, sentence: str, *, is_true: bool) -> None:
        mark = "[green]✓[/]" if is_true else "[bold red]✗[/]"
        self.console.print(f"{mark} ", end="")
        self.console.print(sentence, markup=False, soft_wrap=True)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        drawn = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
        for column in columns:
            drawn.add_column(column, no_wrap=True)
        for row in rows:
            drawn.add_row(*(str(cell) for cell in row))
        self.console.print()
        self.console.print(drawn)


def show() -> Show:
    """Return what draws best here."""
    return RichShow() if Console is not None else Show()
