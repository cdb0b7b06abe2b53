"""The table of published figures leaves no row out and takes no error for smaller than it is."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import published_figures
from experiments.lib.published_answers import REASONS
from experiments.published_figures import LIMITS, Published, published


def row(low: float, high: float) -> Published:
    return Published("X1", "speed", low, high, "GB/s", "a GPU", "a paper", "measured")


def test_every_row_has_an_answer_or_a_reason_and_the_bars_hold(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(published_figures, "RECORDS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["published_figures", "--quick"])
    assert published_figures.main() == 0
    record = json.loads((tmp_path / "published_figures.jsonl").read_text())
    answered = {bar["name"].split()[0] for bar in record["bars"]}
    assert answered | set(REASONS) == set(published())
    assert not answered & set(REASONS)
    printed = capsys.readouterr().out.splitlines()
    assert all(any(line.startswith(f"{name} ") for line in printed) for name in published())
    judged = {bar["name"].split()[0] for bar in record["bars"] if bar["verdict"] == "pass"}
    assert judged == set(LIMITS) & answered


@given(st.floats(0.1, 100), st.floats(1, 2), st.floats(0.01, 1000))
def test_an_error_is_to_the_nearer_end_and_none_inside(low: float, width: float, predicted: float) -> None:
    high = low * width
    error = row(low, high).error(predicted)
    if predicted < low:
        assert error == pytest.approx(100 * (predicted / low - 1))
    elif predicted > high:
        assert error == pytest.approx(100 * (predicted / high - 1))
    else:
        assert error == 0


def test_a_row_says_what_was_published() -> None:
    assert row(1.0, 1.6).text == "1-1.6"
    assert row(4.74, 4.74).text == "4.74"
    assert published()["Z18"].text == "a table"
    with pytest.raises(ValueError, match="Z18 has no number"):
        published()["Z18"].error(1.0)


def test_every_row_names_its_source() -> None:
    rows = published().values()
    assert all(one.source and one.status and one.hardware and one.unit for one in rows)
    assert all((one.low is None) == (one.high is None) for one in rows)
    assert all(one.low is None or one.high is None or one.low <= one.high for one in rows)
