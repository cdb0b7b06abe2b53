"""The table of answers in the repository is what the records in it say."""

import pytest

from experiments.lib.bars import Bar, Place
from experiments.lib.experiment import find, names, summary
from experiments.lib.records import ANSWERS, answer, figures, pages, said


def test_the_table_and_the_pages_are_as_the_records_say() -> None:
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"run `grapin experiments readme`: {path.name}"


def test_the_figures_are_drawn_from_the_records() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    for path, image in figures().items():
        kept = path.read_bytes()
        if (
            f"Matplotlib v{matplotlib.__version__}".encode() in kept
        ):  # others place letters a little differently
            assert kept == image, f"run `grapin experiments readme`: {path.name}"


@pytest.mark.parametrize("name", names())
def test_an_answer_tells_what_was_found_and_with_which_figures(name: str) -> None:
    experiment, record = find(name), answer(name)
    assert experiment.answer is not summary
    if record is not None:
        told = said(experiment, record).partition(" limits kept")[0]
        assert any(letter.isdigit() for letter in told)
        assert not any(empty in told for empty in ("nothing", "nan", "inf ", "  ", "{"))


def test_growth_tells_times_and_sizes_where_rows_have_them() -> None:
    rows = [
        Bar("bfs", time, "ms", place=Place("a batch of 7", "bfs", scale))
        for time, scale in ((0.1, 4), (0.2, 6))
    ]
    told = find("growth").answer([*rows, Bar("bfs: longest over shortest", 2.0, limit=3.0)])
    assert told.startswith("a batch of 7 is repaired in 0.1 to 0.2 ms on graphs of 2^4 to 2^6 vertices")
    assert told.endswith("1 of 1 limit kept")


def test_paging_tells_the_rate_that_it_streams_at_where_a_row_has_it() -> None:
    told = find("paging_speed").answer([Bar("streaming on a V100", 8.294, "GB/s", published=9.11)])
    assert "streams 8.29 against the 9.11 GB/s" in told


def test_pagerank_tells_that_it_takes_longer_where_rows_have_times() -> None:
    told = find("pagerank").answer([Bar("a: edges read over those of the power iteration", 0.5)])
    assert told == "a repair reads 0.5 of the edges that the power iteration reads"
    told = find("pagerank").answer([Bar("a: time over that of the power iteration", 2.0)])
    assert told.endswith("takes 2 times as long on one CPU core")


def test_every_answer_is_of_an_experiment_from_a_full_run_with_its_figure() -> None:
    for path in ANSWERS.glob("*.json"):
        record = answer(path.stem)
        assert record is not None
        assert record["experiment"] == path.stem
        assert path.stem in names()
        assert not record["quick"]
        assert record["seconds"] < 20 * 60
        assert path.with_suffix(".svg").is_file()
    assert {path.stem for path in ANSWERS.glob("*.*")} <= set(names())


@pytest.mark.parametrize("name", names())
def test_an_experiment_asks_one_question_and_says_why_it_differs_from_what_was_published(name: str) -> None:
    experiment = find(name)
    assert experiment.name == name
    assert experiment.question.endswith("?")
    assert "\n" not in experiment.question + experiment.source + experiment.difference
    record = answer(name)
    if record is not None and any(bar["published"] is not None for bar in record["bars"]):
        assert experiment.source
        assert experiment.difference
