"""What docs/benchmark.md shows can be run as it stands."""

import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from grapin.bench.compare import LEVEL, least_probability
from grapin.bench.suite import Suite, find_suite
from grapin.cli.bench import command

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "benchmark.md").read_text()


def test_the_suite_on_the_page_is_one_and_shows_every_setting(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "mine.toml"
    file.write_text(block)
    suite = find_suite(str(file), {})
    assert suite.batch_sizes == (100, 10_000)
    shown = set(re.findall(r"^(\w+) =", block, re.MULTILINE))
    assert shown == {field.name for field in fields(Suite)} - {"name"}


def test_the_commands_on_the_page_have_the_options_they_show() -> None:
    known = {option for parameter in command.params for option in parameter.opts}
    lines = re.findall(r"^grapin bench .*", PAGE, re.MULTILINE)
    assert len(lines) >= 5
    for line in lines:
        assert set(re.findall(r"--[a-z-]+", line)) <= known


def test_every_setting_of_a_suite_is_an_option_too() -> None:
    names = {parameter.name for parameter in command.params if isinstance(parameter, click.Option)}
    assert {field.name for field in fields(Suite)} - {"name", "graphs"} <= names  # GRAPH is an argument


def test_eight_repetitions_are_enough_for_as_many_comparisons_as_the_page_says() -> None:
    (count,) = re.findall(r"Eight are enough for (\d+)\s+comparisons", PAGE)
    assert int(count) * least_probability(8, 8) <= LEVEL
