"""One line on stderr when something has to be compiled, so that nobody wonders what the first run waits for."""

import sys

import click

from grapin.compilations import NOT_KEPT, Compilation, watchers
from grapin.progress import bar_is_shown


class Line:
    """What was compiled so far: written once, and on a terminal kept up to date in place."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._written = False

    def __call__(self, compilation: Compilation) -> None:
        """Note one compilation that begins or is over."""
        if sys.stderr is None:
            return
        if not self._written:
            where = NOT_KEPT if compilation.kept is None else "kept beside the source and for every later run"
            if compilation.kept is not None and not compilation.kept.endswith("__pycache__"):
                where = f"kept in {compilation.kept}"
            click.echo(f"Compiling for this machine, once: usually 10 to 40 s; {where}", err=True)
            self._written = True
        self._seconds += compilation.seconds or 0.0
        if sys.stderr.isatty() and not bar_is_shown():
            done = compilation.number - (compilation.seconds is None)
            click.echo(f"\r{done} functions compiled, {self._seconds:.0f} s\x1b[K", err=True, nl=False)

    def end(self) -> None:
        """Leave the terminal's line when the command is over."""
        if self._written and sys.stderr is not None and sys.stderr.isatty():
            click.echo("\r\x1b[K", err=True, nl=False)


def watch() -> Line:
    """Begin to say what is compiled."""
    line = Line()
    watchers[:] = [line]
    return line
