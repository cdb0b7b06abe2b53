"""Refusals speak of what was typed."""

import click
import pytest

from grapin.cli.main import commands, in_options


@click.group()
def tool() -> None: ...


@tool.command()
@click.option("--batch-size", type=int)
@click.option("--device", "devices")
@click.option("--graphs")
def run(**_options: object) -> None: ...


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("batch_size=-1 must be at least 1", "--batch-size -1 must be at least 1"),
        ("batch-size=0 must be at least 1", "--batch-size 0 must be at least 1"),
        (
            "device='gpu' must be one of cpu (did you mean 'cpu'?)",
            "--device gpu must be one of cpu (did you mean 'cpu'?)",
        ),
        ("device='' must be one of cpu", "--device '' must be one of cpu"),
        ("device='my gpu' must be one of cpu", "--device 'my gpu' must be one of cpu"),
        ("spec='rmta:3' must exist", "rmta:3 must exist"),
        ("graphs=[] must name one", "--graphs [] must name one"),
        ("graph and updates fit; device='cpu' does not", "graph and updates fit; --device cpu does not"),
        ("link.generation=9 must be one of 3, 4", "link.generation=9 must be one of 3, 4"),
        ("tolerance=0 must be above 0", "tolerance=0 must be above 0"),
        ("a.csv, line 2: 'device=3' must be a number", "a.csv, line 2: 'device=3' must be a number"),
    ],
)
def test_an_argument_is_named_as_the_option_that_was_typed(said: str, typed: str) -> None:
    assert in_options(said, tool, ["run"]) == typed


def test_only_options_of_the_command_that_was_called_are_named() -> None:
    said = "batch_size=0 must be at least 1"
    assert in_options(said, tool, []) == said
    assert in_options("seed=-1 must be at least 0", commands, ["info", "star:3"]).startswith("--seed -1")
    assert (
        in_options("jobs=0 must be at least 1", commands, ["experiments", "run"])
        == "jobs=0 must be at least 1"
    )
