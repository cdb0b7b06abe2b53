"""The table of answers in the repository is what the records in it say."""

import pytest

from experiments.experiment import find, names
from experiments.pages import pages
from experiments.records import ANSWERS, answer


def test_the_table_and_the_pages_are_as_the_records_say() -> None:
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"run `grapin experiments readme`: {path.name}"


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
