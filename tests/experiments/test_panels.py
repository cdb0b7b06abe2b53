"""Rows that have a place are drawn there, whatever way their record went; times of miniatures grow as they should."""

import json

import pytest

from experiments.bars import Bar, Place
from experiments.experiment import Experiment
from experiments.grapin_runs import MACHINE, generated
from experiments.panels import panels
from experiments.records import bars_of, measured
from experiments.varying import over, seconds_at_size
from grapin.counters import Counters
from grapin.sim import MACHINES
from grapin.sim.closed_form import read_requests
from grapin.sim.prediction import Costs, Seconds

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


def test_waiting_is_counted_once_and_what_the_link_is_busy_with_as_often_as_the_original_is_larger() -> None:
    miniature = generated("OK", 4000)
    counters = Counters(requests_128=1000, patch_bytes=320)
    busy = read_requests(MACHINES[MACHINE], {32: 10, 128: 1000}).seconds
    for waiting in (0.0, 1.0):
        costs = Costs(counters, seconds=Seconds(link=busy + waiting))
        assert seconds_at_size(miniature, costs) == pytest.approx(busy / miniature.part + waiting)
