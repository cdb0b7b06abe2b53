"""Tables show every number whole, however narrow the terminal is."""

import re

import pytest

from grapin.cli.tables import print_table

HEAD = ("machine", "system", "bytes", "32 B", "wire", "per batch", "bottleneck")
ROWS = [("a5000", "bounded", "8.37 MiB", "44,943", "10.5 MiB", "466 us", "launches"), ("gh200",) * 7]


def shown(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # what rich takes for a terminal
    monkeypatch.setenv("NO_COLOR", "1")
    print_table("title", HEAD, ROWS, names=2)
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.mark.parametrize("width", [15, 40, 60, 79, 80, 200])
def test_nothing_is_cut(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(width, monkeypatch, capsys)
    assert "…" not in text
    for cell in (*HEAD, *ROWS[0], *ROWS[1]):
        assert cell in text
    if width >= 40:
        assert all(len(line) <= width for line in text.splitlines())


@pytest.mark.parametrize("names", [1, 2, 3])
def test_where_not_even_the_names_and_one_column_fit_each_row_is_a_list(
    names: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of 48 characters and three of them in a row, as those of machines with settings are."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    long = "a5000+link.generation=5+gpu.memory=33%+link.bits"
    rows = [(*(long for _ in range(names)), "1,234,567,890", "GiB"), (*("b" for _ in range(names)), "7", "8")]
    print_table(
        "a title of more than forty characters, which has to be wrapped",
        ("name",) * names + ("count", "x"),
        rows,
        names=names,
    )
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert all(len(line) <= 40 for line in text.splitlines())
    assert "…" not in text
    joined = re.sub(r"\s+", "", text)
    assert joined.count(long) == names
    for cell in ("1,234,567,890", "GiB", "count", "name"):
        assert cell in text


def test_texts_that_do_not_fit_beside_each_other_are_lists_and_brackets_are_no_style(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("numpy", "here", "pip install 'grapin[scipy]'"), ("a-library-with-a-long-name", "no", "")]
    monkeypatch.setenv("NO_COLOR", "1")
    for width in ("40", "200"):
        monkeypatch.setenv("COLUMNS", width)
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
        print_table("libraries", ("name", "state-of-it", "what-it-is-for"), rows, numbers=False)
        text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
        assert all(len(line) <= int(width) for line in text.splitlines())
        assert "grapin[scipy]" in text
        assert "a-library-with-a-long-name" in text


def test_each_part_names_its_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(200, monkeypatch, capsys).count("bounded") == 1
    assert shown(50, monkeypatch, capsys).count("bounded") > 1
