"""Tables as all commands print them: names left, numbers right, one style.

A number that is cut is worse than none. Where a terminal is too narrow for all columns, they are printed in several
tables one below the other, each with the names of the rows.
"""

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_PIPED_WIDTH = 200
"""A file or a pipe has no edge to wrap at."""
_PADDING = 3
"""What a column takes beside its text."""


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, names: int = 1, numbers: bool = True
) -> None:
    """Print rows of text under a title; the first columns name, the others are numbers unless told otherwise."""
    console = Console()
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    console.print(Text(title, style="bold"), soft_wrap=True)
    if not numbers:
        console.print(_table(columns, rows, names=len(columns), wrap=True))
        return
    known = [columns, *rows]
    widths = [_PADDING + max(map(len, column)) for column in zip(*known, strict=True)]
    for places in _parts(widths, names, console.width - 1):
        chosen = [[row[place] for place in places] for row in known]
        console.width = max(console.width, 1 + sum(widths[place] for place in places))
        console.print(_table(chosen[0], chosen[1:], names=names, wrap=False))


def _parts(widths: Sequence[int], names: int, room: int) -> Iterator[list[int]]:
    """Yield which columns stand together: the names, and as many others as there is room for, at least one."""
    part = list(range(names))
    for place in range(names, len(widths)):
        if len(part) > names and sum(widths[one] for one in (*part, place)) > room:
            yield part
            part = list(range(names))
        part.append(place)
    yield part


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, names: int, wrap: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < names else "right", no_wrap=not wrap)
    for row in rows:
        table.add_row(*row)
    return table
