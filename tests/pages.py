"""The fenced blocks of a Markdown page, and how each kind is held to what it says.

| fence | how it is tried |
|---|---|
| `python` | run, all blocks of a page in one module; with prompts, it prints what is shown; tests in it pass |
| `python gpu` | compiled only |
| `sh` | every line that begins with `grapin` is run, and has to succeed |
| `sh gpu`, `sh slow` | needs what is not here, or longer than a test may take: every option it shows has to exist |
| `console` | the line behind `$` is run, and prints what is shown, but for digits |
| `console head` | only the first two lines: what follows hangs on the release of Hypothesis |
| none, `text`, `toml`, `mermaid` | no code and no command: output, pictures, settings |
"""

import doctest
import re
import shlex
import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from grapin.cli.main import commands, main

_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(r"[-─]{2,}|[\d.,…]+(?:\s*(?:[kMG]i?B|[num]?s|B)\b)?|\s+")


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    fence: str
    text: str
    where: str

    @property
    def commands(self) -> Iterator[list[str]]:
        """Yield the command lines of Grapin without what a `#` or a pipe follows."""
        for line in self.text.splitlines():
            if line.removeprefix("$ ").startswith("grapin "):
                yield shlex.split(line.removeprefix("$ ").split(" > ")[0], comments=True)[1:]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    text = page.read_text()
    return [
        Block(found[1].strip(), found[2], f"{page.name}:{text[: found.start()].count(chr(10)) + 1}")
        for found in _FENCE.finditer(text)
    ]


def run_python(block: Block, names: dict[str, Any]) -> None:
    """Run a block in the module that those before it made; run the tests that it defines."""
    before = dict(names)
    if ">>>" in block.text:
        examples = doctest.DocTestParser().get_doctest(block.text, names, block.where, None, None)
        failed, _ = doctest.DocTestRunner(
            optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False
        ).run(examples, clear_globs=False)
        names.update(examples.globs)
        assert not failed, block.where
        return
    exec(compile(block.text, block.where, "exec"), names)
    for name, made in names.items():
        if name.lower().startswith("test") and made is not before.get(name):
            _run_test(made)


def _run_test(made: Any) -> None:
    if not isinstance(made, type):
        made()
        return
    result = unittest.TestResult()
    made("runTest").run(result)
    assert result.testsRun == 1
    assert not result.errors + result.failures


def run_commands(block: Block) -> None:
    """Run every command of a block, each of which has to succeed."""
    for arguments in block.commands:
        assert main(arguments) == 0, f"{block.where}: grapin {shlex.join(arguments)}"


def check_options(block: Block) -> None:
    """Hold the options of commands that cannot be run here to those that exist."""
    for name, *arguments in block.commands:
        command = commands.get_command(click.Context(commands), name)
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), arguments[0])
        assert command is not None, f"{block.where}: grapin {name}"
        known = {option for parameter in command.params for option in parameter.opts}
        shown = {argument.split("=")[0] for argument in arguments if argument.startswith("--")}
        assert shown <= known, f"{block.where}: grapin {name}"


def same_form(shown: list[str], printed: list[str]) -> bool:
    """Tell whether lines differ in nothing but numbers with their units, rules and spaces."""
    return _words(shown) == _words(printed)


def _words(lines: list[str]) -> list[str]:
    return _RUN.sub(" ", " ".join(lines)).split()
