"""The page about counters lists every kind."""

from pathlib import Path

from grapin.measured import KINDS

PAGE = (Path(__file__).resolve().parents[2] / "docs/counters.md").read_text()


def test_the_page_lists_every_kind_in_the_order_of_the_table() -> None:
    rows = [line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("| ")]
    assert rows == ["kind", *KINDS]
