"""Rows that have a place are drawn there, whatever way their record went."""

import json

from experiments.bars import Bar, Place
from experiments.experiment import Experiment
from experiments.panels import panels
from experiments.records import bars_of, measured
from experiments.varying import over

ROWS = (
    Bar("one", 4.0, "s", place=Place("left", "slow", 1.0)),
    Bar("two", 2.0, "s", published=3.0, place=Place("left", "fast", 1.0)),
    Bar("three", 5.0, "x", place=Place("right", "slow", "a group")),
    Bar("four", 6.0, "x"),
)


def test_places_survive_a_record_and_become_panels_lines_and_groups() -> None:
    drawn = panels("Why?", x="size", log={"left": "xy"})
    experiment = Experiment(name="small", question="Why?", measure=lambda *, quick: ROWS, draw=drawn)
    record = json.loads(json.dumps(measured(experiment, quick=True)))
    assert [bar.place for bar in bars_of(record)] == [bar.place for bar in ROWS]
    figure = drawn(record)
    left, right = figure.axes
    assert (left.get_title(), left.get_xscale(), left.get_ylabel()) == ("left", "log", "s")
    assert {line.get_label() for line in left.lines} == {"slow", "fast", "published"}
    assert [label.get_text() for label in right.get_xticklabels()] == ["a group"]
    assert right.get_ylim()[0] == 0


def test_one_system_over_another_is_compared_where_both_stand() -> None:
    assert over(ROWS, "slow", "fast") == [2.0]
