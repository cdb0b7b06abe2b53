"""Rows are drawn where their places or their names say, on a scale that hides none of them."""

import json
from typing import Any

import pytest

from experiments.lib.bars import Bar, Place, bars_of
from experiments.lib.drawing import figure_of, panels, placed
from experiments.lib.experiment import Experiment
from experiments.lib.records import measured
from experiments.lib.varying import over

pytest.importorskip("matplotlib")

ROWS = (
    Bar("one", 4.0, "s", place=Place("left", "slow", 1.0)),
    Bar("two", 2.0, "s", published=3.0, place=Place("left", "fast", 1.0)),
    Bar("three", 5.0, "x", place=Place("right", "slow", "a group")),
    Bar("four", 6.0, "x"),
)


def axes_of(*rows: Bar, **said: Any) -> list[Any]:
    return [axes for part in figure_of("Why?", rows, **said).subfigs for axes in part.axes]


def dot(x: str, figure: float, panel: str = "p", **more: Any) -> Bar:
    return Bar(f"{x}: {panel}", figure, place=Place(panel, "ours", x), **more)


def marked(axes: Any, label: str) -> list[float]:
    return [float(x) for line in axes.lines if line.get_label() == label for x in line.get_xdata()]


def test_places_survive_a_record_and_become_panels_lines_and_groups() -> None:
    drawn = panels(x="size", log={"left": "xy"})
    experiment = Experiment(name="small", question="Why?", measure=lambda *, quick: ROWS, draw=drawn)
    record = json.loads(json.dumps(measured(experiment, quick=True)))
    assert [bar.place for bar in bars_of(record)] == [bar.place for bar in ROWS]
    left, right = (axes for part in drawn("Why?", record).subfigs for axes in part.axes)
    assert (left.get_title(loc="left"), left.get_xscale(), left.get_ylabel()) == ("left", "log", "s")
    assert {line.get_label() for line in left.lines} == {"slow", "fast", "published"}
    assert [label.get_text() for label in right.get_yticklabels()] == ["a group"]
    assert right.get_xlabel() == "size"


def test_a_record_from_before_its_rows_had_places_is_drawn_by_names() -> None:
    rows = [Bar("bfs: time", 1.0, "s"), Bar("sssp: time", 2.0, "s")]
    record = {"bars": [vars(bar) for bar in rows]}
    (axes,) = (axes for part in panels(x="size")("Why?", record).subfigs for axes in part.axes)
    assert (axes.get_title(loc="left"), axes.get_xlabel()) == ("time", "s")


def test_names_give_a_panel_to_what_is_measured_of_several_and_all_else_stands_by_unit() -> None:
    rows = [Bar("rmat:8:16: time", 1.0, "s"), Bar("er:9: time", 2.0, "s"), Bar("a, b, over", 1.0)]
    rows += [Bar("c, over", 1.0), Bar("alone: 1", 3.0, "ms")]
    assert [bar.place for bar in placed(rows)] == [
        Place("time", "ours", "rmat:8:16"),
        Place("time", "ours", "er:9"),
        Place("over", "ours", "a, b"),
        Place("over", "ours", "c"),
        Place("ms", "ours", "alone: 1"),
    ]


def test_a_linear_scale_begins_at_zero_and_has_stems_and_a_logarithmic_one_has_none() -> None:
    near, far = axes_of(dot("a", 1.0), dot("b", 2.0), dot("c", 1.0, "q"), dot("d", 1000.0, "q"))
    assert (near.get_xscale(), near.get_xlim()[0], len(near.collections)) == ("linear", 0.0, 1)
    assert (far.get_xscale(), len(far.collections)) == ("log", 0)
    assert axes_of(dot("c", 1.0), dot("d", 1000.0), linear=True)[0].get_xscale() == "linear"


def test_a_limit_far_away_does_not_make_a_scale_logarithmic_but_is_in_sight() -> None:
    (axes,) = axes_of(dot("a", 1.0, limit=1000.0), dot("b", 2.0))
    assert axes.get_xscale() == "linear"
    assert axes.get_xlim()[1] > 1000
    assert marked(axes, "limit") == [1000.0]


def test_a_zero_on_a_logarithmic_scale_stands_at_its_edge_and_is_written_out() -> None:
    (axes,) = axes_of(dot("a", 0.0), dot("b", 1.0), dot("c", 100.0, published=0.0))
    assert axes.get_xscale() == "log"
    assert marked(axes, "ours") == [1.0, 100.0]
    assert [note.get_text() for note in axes.texts] == ["0", "0"]
    (lines,) = axes_of(
        *(Bar("", y, place=Place("p", "ours", x)) for x, y in ((1, 0.0), (2, 1.0), (3, 100.0)))
    )
    assert lines.get_yscale() == "log"
    assert [note.get_text() for note in lines.texts] == ["0"]


def test_panels_about_the_same_things_stand_side_by_side_with_names_at_the_left_only() -> None:
    left, right, below = axes_of(
        *(dot(name, 1.0, "p") for name in "abc"),
        *(dot(name, 1.0, "q") for name in "ab"),
        dot("z", 1.0, "r"),
    )
    assert [label.get_text() for label in left.get_yticklabels()] == ["a", "b", "c"]
    assert not any(label.get_text() for label in right.get_yticklabels())
    assert [label.get_text() for label in below.get_yticklabels()] == ["z"]


def test_long_titles_and_names_are_wrapped() -> None:
    title, name = "what is measured " * 8, "a thing " * 20
    first, _ = axes_of(dot(name, 1.0, title), dot(name, 1.0, "q"))
    assert "\n" in first.get_title(loc="left")
    assert "\n" in first.get_yticklabels()[0].get_text()


def test_lines_that_hardly_differ_are_shown_without_the_zero_and_others_with_it() -> None:
    def lowest(*figures: float) -> float:
        rows = [Bar("", figure, place=Place("p", "ours", at)) for at, figure in enumerate(figures)]
        return float(axes_of(*rows)[0].get_ylim()[0])

    assert lowest(1.0, 1.1) > 0.9
    assert lowest(1.0, 2.0) == 0


def test_one_system_over_another_is_compared_where_both_stand() -> None:
    assert over(ROWS, "slow", "fast") == [2.0]
