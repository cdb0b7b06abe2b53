"""Refusals in the words of the command line: what Python calls `batch_size=0` is `--batch-size 0` there.

Everything below the command line says `name=value must ...`, with the argument that a caller in Python gave. Only here
is it known that the caller typed an option: so sentences are put into its words when they are printed, in one place.
"""

import re
import shlex
from collections.abc import Iterator, Sequence

import click

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
        for option in (name, f"{name}s"):
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
