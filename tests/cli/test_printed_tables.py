"""Tables show every number whole, however narrow the terminal is."""

import re

import pytest

from grapin.cli.tables import print_table

HEAD = ("machine", "system", "bytes", "32 B", "wire", "a batch", "most time")
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


def test_each_part_names_its_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(200, monkeypatch, capsys).count("bounded") == 1
    assert shown(50, monkeypatch, capsys).count("bounded") > 1
