"""`grapin`: the entry point, which finds commands and turns every expected failure into one sentence and an exit code.

To add a command, write `grapin/cli/NAME.py` with a `command` made by click, and add it to `COMMANDS`.
A command's module is imported when it is needed, so that `grapin --help` does not load Numba.

Everything below the command line says `name=value must ...`, with the argument that a caller in Python gave. Only here
is it known that the caller typed an option: so sentences are put into its words when they are printed, in one place.
One line on stderr says when something has to be compiled, so that nobody wonders what the first run waits for.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module

import click

from grapin import __version__
from grapin.compilations import NOT_KEPT, Compilation, watchers
from grapin.errors import GrapinError
from grapin.interrupts import Terminated, heard_terminations
from grapin.progress import bar_is_shown
from grapin.spool import kept_spools


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


WRONG = 1
"""A verifier found a value that is not right: a defect of ours, not of the command."""
MISSED = 1
"""An experiment did not keep a limit that it states."""
UNREAD = 1
"""Whoever read our output has left; the same that click and rich use."""
FAILED = 2
"""Anything the user can act on."""
INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT, as shells have it."""
TERMINATED = 143
"""SIGTERM: 128 + SIGTERM. It ends a command as Ctrl-C does."""


def ended_by(error: KeyboardInterrupt) -> tuple[str, int]:
    """Return the word for what ended a command, and its exit code."""
    return ("terminated", TERMINATED) if isinstance(error, Terminated) else ("interrupted", INTERRUPTED)


_ARGUMENT = re.compile(
    r"(?<![\w.'\"=-])(?P<name>[a-z][a-z_-]*)=(?P<value>'[^']*'|\"[^\"]*\"|\[\]|-?[\w.:/%-]+)"
)
_POSITIONAL = {"experiment", "file", "graph", "spec", "suite"}
"""What is typed without a name: the value says which it is."""


def in_options(sentence: str, command: click.Command, arguments: Sequence[str]) -> str:
    """Return a sentence with the options of the command that the arguments call in place of Python's arguments."""
    options = {name.lstrip("-") for one in _called(command, arguments) for name in _names(one)}

    def typed(found: re.Match[str]) -> str:
        name, value = found["name"].replace("_", "-"), _plain(found["value"])
        for option in (name, f"{name}s", name.removesuffix("s")):
            if option in options:
                return f"--{option} {value}"
        return value if name in _POSITIONAL else found[0]

    return _ARGUMENT.sub(typed, sentence)


def _called(command: click.Command, arguments: Sequence[str]) -> Iterator[click.Command]:
    """Yield a command and the commands under it that the arguments name."""
    yield command
    if not isinstance(command, click.Group):
        return
    for place, argument in enumerate(arguments):
        below = command.get_command(click.Context(command), argument)
        if below is not None:
            yield from _called(below, arguments[place + 1 :])
            return


def _names(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from parameter.opts


def _plain(value: str) -> str:
    """Return a value as one types it in a shell."""
    return shlex.quote(value[1:-1]) if value[0] in "'\"" else value


COMMANDS = {
    "demo": "See it all in a minute, with a report at the end.",
    "run": "Keep an answer fresh under a stream of mutations.",
    "state": "Say what a run left in its --state, and whether it is whole.",
    "check": "Try your program or device on random streams.",
    "whatif": "Predict bytes, requests and time on other machines.",
    "compare": "Lay predicted traffic beside measured traffic.",
    "bench": "Time it, behind a correctness gate, beside other libraries.",
    "experiments": "Measure what we and the papers claim.",
    "doctor": "Show what can be used here; test a device.",
    "warm": "Compile everything now, for installs and containers.",
    "info": "Describe a graph: vertices, edges, degrees, memory.",
    "generate": "Make a graph and write it to a file.",
    "convert": "Write a graph in another format.",
}
"""What each does, in the order in which a newcomer meets them."""


class _Commands(click.Group):
    """Commands found by name, each in its own module."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click passes it
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """List the commands without importing them, which would take seconds."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"grapin.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            nearest = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(COMMANDS)}."
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="grapin", message="%(prog)s %(version)s")
def commands() -> None:
    """Keep graph answers fresh while the graph changes all the time and outgrows GPU memory.

    GRAPH is a file (SNAP, CSV, Matrix Market, DIMACS, KONECT, Parquet, npz; plain or compressed) or a
    generator such as rmat:18:16, er:1000:5000, grid:100:100, star:1000 or path:1000; - is standard input.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (see `grapin.cli.main`)."""
    with heard_terminations(), kept_spools():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    line = watch()
    try:
        code = commands.main(arguments, prog_name="grapin", standalone_mode=False)
        if sys.stdout is not None:  # None where the shell has closed it
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return FAILED
    except click.ClickException as error:
        return _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt) as error:
        # Click, which ends the line that has ^C on it, wraps what it caught.
        cause = error.__cause__ if isinstance(error, click.Abort) else error
        ended = cause if isinstance(cause, KeyboardInterrupt) else KeyboardInterrupt()
        word, code = ended_by(ended)
        return _fail(f"{word} {ended}", code)
    except BrokenPipeError:
        # The interpreter must not try to flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except MemoryError as error:
        return _fail(f"there is not enough memory: {error}")
    except OSError as error:
        reason = error.strerror or str(error)
        return _fail(f"{error.filename}: {reason}" if error.filename else reason)
    except GrapinError as error:
        given = sys.argv[1:] if arguments is None else arguments
        return _fail(in_options(str(error), commands, given))
    finally:
        line.end()
    return code if isinstance(code, int) else 0


def _fail(sentence: str, code: int = FAILED) -> int:
    click.echo("grapin: " + " ".join(sentence.split()), err=True)
    return code
