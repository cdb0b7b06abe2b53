"""A progress bar for anything over a few seconds: on a terminal only, gone when done, never in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_shown: list[str] = []
"""The label of the bar that is on the terminal."""


def bar_is_shown() -> bool:
    """Tell whether a bar is on the terminal, which other lines would tear apart."""
    return bool(_shown)


class Advance(Protocol):
    """Called with how much more of the total is done."""

    def __call__(self, amount: float, /) -> None:
        """Advance the bar."""


@contextmanager
def progress(label: str, total: float | None = None) -> Iterator[Advance]:
    """Show a bar on stderr while the block runs; the block calls what it is given to advance it.

    There is one bar at a time: within a block that shows one, another is not shown.
    """
    if _shown or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _amount: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)

        def advance(amount: float, /) -> None:
            bar.advance(task, amount)

        _shown.append(label)
        try:
            yield advance
        finally:
            _shown.pop()
