"""Tables as all commands print them: names left, numbers right, one style.

A number that is cut is worse than none. Where a terminal is too narrow for all columns, they are printed in several
tables one below the other, each with the names of the rows. Where not even the names and one column fit, each row is a
list of its own: its names, then a line a column.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_PIPED_WIDTH = 200
"""A file or a pipe has no edge to wrap at."""
_PADDING = 3
"""What a column takes beside its text."""
_INDENT = "  "


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, names: int = 1, numbers: bool = True
) -> None:
    """Print rows of text under a title; the first columns name, the others are numbers unless told otherwise."""
    console = Console()
    piped = not console.is_terminal
    if piped:
        console.width = _PIPED_WIDTH
    console.print(Text(title, style="bold"), soft_wrap=piped, overflow="fold")
    known = [columns, *rows]
    if not numbers:
        least = [_PADDING + max(map(_longest_word, column)) for column in zip(*known, strict=True)]
        if piped or sum(least) < console.width:
            console.print(_table(columns, known[1:], names=len(columns), wrap=True))
        else:
            _print_lists(console, columns, known[1:], names=1)
        return
    widths = [_PADDING + max(map(len, column)) for column in zip(*known, strict=True)]
    parts = list(_parts(widths, names, console.width - 1))
    if not piped and any(sum(widths[place] for place in part) >= console.width for part in parts):
        _print_lists(console, columns, known[1:], names=names)
        return
    for part in parts:
        chosen = [[row[place] for place in part] for row in known]
        console.width = max(console.width, 1 + sum(widths[place] for place in part))
        console.print(_table(chosen[0], chosen[1:], names=names, wrap=False))


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _parts(widths: Sequence[int], names: int, room: int) -> Iterator[list[int]]:
    """Yield which columns stand together: the names, and as many others as there is room for, at least one."""
    part = list(range(names))
    for place in range(names, len(widths)):
        if len(part) > names and sum(widths[one] for one in (*part, place)) > room:
            yield part
            part = list(range(names))
        part.append(place)
    yield part


def _print_lists(
    console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], *, names: int
) -> None:
    """Print each row as its names and a line a column; what is longer than a line goes on in the next."""
    heads = ", ".join(columns[:names])
    console.print(Text("\n".join(textwrap.wrap(heads, console.width)), style="bold"), soft_wrap=True)
    for row in rows:
        lines = [", ".join(row[:names])]
        for column, text in zip(columns[names:], row[names:], strict=True):
            room = console.width - len(_INDENT) - len(column) - 1
            fits = len(text) <= room
            lines += (
                [f"{_INDENT}{column} {text:>{room}}"] if fits else [f"{_INDENT}{column}", _INDENT * 2 + text]
            )
        console.print()
        for line in lines:
            indent = " " * (len(line) - len(line.lstrip()))
            for shown in textwrap.wrap(line, console.width, subsequent_indent=indent) or [""]:
                console.print(Text(shown), soft_wrap=True)
    console.print()


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, names: int, wrap: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        table.add_column(
            column, justify="left" if place < names else "right", no_wrap=not wrap, overflow="fold"
        )
    for row in rows:
        table.add_row(*map(Text, row))  # as it is: brackets in a name are no style
    return table
