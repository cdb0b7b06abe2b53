"""Options that had other names: still taken, with a note that says what they are called now.

One concept has one name in all commands, so a few options had to take the name that the others had. Who typed the old
one (a script, a habit) gets what it meant; the help does not list it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import click

Rename = str | Callable[[str], list[str]]
"""The option's name now, or a function of its value (empty for a flag) that returns what to type instead."""


class Renamed(click.Command):
    """A command with options that had other names: `renamed` says of each old one what it is now."""

    def __init__(self, *arguments: Any, renamed: Mapping[str, Rename], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.renamed = renamed

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace old names before click looks at them; behind `--` there are none."""
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [*_now(self.renamed, args[:end]), *args[end:]])


def flag(*now: str) -> Callable[[str], list[str]]:
    """Stand for a flag that takes no value."""

    def typed(_value: str) -> list[str]:
        return list(now)

    typed.takes_value = False  # type: ignore[attr-defined]
    return typed


def argument(value: str) -> list[str]:
    """Stand for an option whose value is an argument now."""
    return [value]


def _now(renamed: Mapping[str, Rename], given: list[str]) -> list[str]:
    found: list[str] = []
    rest = iter(given)
    for one in rest:
        old, equals, value = one.partition("=")
        rename = renamed.get(old)
        if rename is None:
            found.append(one)
            continue
        if isinstance(rename, str):
            found.append(rename + equals + value)
            shown = rename
        else:
            if not equals and getattr(rename, "takes_value", True):
                value = next(rest, "")
            found += rename(value)
            shown = " ".join(rename(value)) or "left out"
        click.echo(f"grapin: note: {old} is {shown} now", err=True)
    return found
