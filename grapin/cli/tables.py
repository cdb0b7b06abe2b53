"""Tables as all commands print them: names left, numbers right, one style."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_PIPED_WIDTH = 200
"""A file or a pipe has no edge to wrap at."""


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, names: int = 1, numbers: bool = True
) -> None:
    """Print rows of text under a title; the first columns name, the others are numbers unless told otherwise."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPED_WIDTH)
    console.print(Text(title, style="bold"), soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        right = numbers and place >= names
        table.add_column(column, justify="right" if right else "left", no_wrap=numbers)
    for row in rows:
        table.add_row(*row)
    console.print(table)
