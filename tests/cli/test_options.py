"""One name for one option: the same concept has the same name and the same type in every command."""

from collections.abc import Iterator
from typing import Any

import click
import pytest

from grapin.cli.main import commands, main
from grapin.cli.options import Renamed

CONCEPTS = {
    "--against": "text",
    "--all": "flag",
    "--batch-size": "integer",
    "--batch-seconds": "float",
    "--batches": "integer",
    "--cache": "text",
    "--calibrate": "text",
    "--cluster": "text",
    "--columns": "text",
    "--data": "text",
    "--device": "text",
    "--directed": "flag",
    "--durability": "choice",
    "--examples": "integer",
    "--executed": "text",
    "--follow": "text",
    "--from": "text",
    "--gpu-memory": "text",
    "--hubs": "flag",
    "--ids": "choice",
    "--insertions": "float",
    "--interleavings": "integer",
    "--json": "text",
    "--keep": "flag",
    "--kind": "text",
    "--machine": "text",
    "--measured": "text",
    "--only": "text",
    "--out": "text",
    "--oversubscribe": "text",
    "--path": "text",
    "--peers": "text",
    "--plot": "text",
    "--processes": "integer",
    "--program": "text",
    "--quick": "flag",
    "--record": "text",
    "--records": "text",
    "--repetitions": "integer",
    "--rows": "choice",
    "--scale": "integer",
    "--seed": "integer",
    "--set": "text",
    "--source": "text",
    "--state": "text",
    "--system": "text",
    "--threads": "integer",
    "--timeline": "text",
    "--top": "integer",
    "--trace": "text",
    "--updates": "text",
    "--values": "text",
    "--verify": "flag",
    "--warmup": "integer",
    "--weights": "text",
}
"""Every option there is: what is not here is either new, to be added, or another name for one that is."""
ARGUMENTS = {"GRAPH", "GRAPH-or-TRACE", "[GRAPH]", "FILE", "DIR", "[SUITE] [GRAPH]...", "[NAME]..."}
REPEATED = {"--measured", "--path", "--set"}


def all_commands(group: click.Group = commands, path: str = "grapin") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from all_commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def options() -> Iterator[tuple[str, click.Option]]:
    for path, command in all_commands():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield path, parameter


def kind(option: click.Option) -> str:
    if option.is_flag:
        return "flag"
    return option.type.name.removesuffix(" range")


def test_every_command_is_walked() -> None:
    paths = {path for path, _ in all_commands()}
    assert {"grapin run", "grapin experiments run", "grapin convert"} <= paths
    assert len(paths) == 15


def test_an_option_has_one_spelling_and_it_is_a_known_concept() -> None:
    found = {option.opts[0] for _, option in options()}
    assert found == CONCEPTS.keys()
    assert all(len(option.opts) == 1 for _, option in options())


def test_an_option_has_the_same_type_in_every_command() -> None:
    for path, option in options():
        assert kind(option) == CONCEPTS[option.opts[0]], f"{path} {option.opts[0]}"
        assert option.multiple == (option.opts[0] in REPEATED), f"{path} {option.opts[0]}"


def test_a_parameter_of_one_name_in_the_code_is_one_option() -> None:
    called: dict[str, set[str]] = {}
    for _, option in options():
        called.setdefault(option.opts[0], set()).add(str(option.secondary_opts))
    assert all(len(ways) == 1 for ways in called.values())


def test_the_graph_is_an_argument_everywhere() -> None:
    shown = set()
    for path, command in all_commands():
        for parameter in command.params:
            if isinstance(parameter, click.Argument):
                shown.add(parameter.make_metavar(click.Context(command)))
                assert parameter.name in {"graph", "file", "folder", "named", "names"}, path
    assert {one.strip("[]").upper() for one in shown} <= {one.strip("[]").upper() for one in ARGUMENTS}
    assert not {"--graph", "--graphs"} & {option.opts[0] for _, option in options()}


@pytest.mark.parametrize(
    ("given", "now"),
    [
        ("demo --graph folder --size 7", "demo folder --batch-size 7"),
        ("demo --graph=folder --size=7", "demo folder --batch-size=7"),
        ("check --graph rmat:4 --save x", "check rmat:4 --out x"),
        ("bench quick --graphs rmat:4 --programs sssp", "bench quick rmat:4 --program sssp"),
        (
            "bench --systems bounded --devices cpu --batch-sizes 7",
            "bench --system bounded --device cpu --batch-size 7",
        ),
        ("generate star:3 a.csv --no-weights", "generate star:3 a.csv --weights ignore"),
    ],
)
def test_old_names_mean_what_they_meant_and_say_what_they_are_now(
    given: str, now: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *arguments = given.split()
    command = commands.get_command(click.Context(commands), name)
    assert isinstance(command, Renamed)

    def parsed(line: list[str]) -> dict[str, Any]:
        assert command is not None
        with command.make_context(name, line) as context:
            return context.params

    assert parsed(arguments) == parsed(now.split()[1:])
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) == sum(one.split("=")[0] in command.renamed for one in arguments)
    assert all(note.startswith("grapin: note: --") and note.endswith(" now") for note in notes)


def test_old_names_are_not_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("demo", "check", "bench", "generate"):
        assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    for old in ("--graph", "--size", "--save", "--no-weights", "--programs", "--batch-sizes"):
        assert old not in shown.replace("--graphs", "--graph").split()


def test_an_old_name_behind_two_dashes_is_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--", "--graph"]) == 2
    assert "note" not in capsys.readouterr().err


def test_an_old_option_without_a_value_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--size"]) == 2
    assert "--batch-size" in capsys.readouterr().err
