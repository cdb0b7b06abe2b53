"""Streams are made from rows, or from the name of a file or a generator."""

from pathlib import Path

import pytest

import grapin
from grapin.errors import InvalidArgument
from grapin.stream import sliding, temporal

EVENTS = "a b 1\nb c 2\nc d 3\n"


def test_a_path_is_as_good_as_what_is_read_from_it(tmp_path: Path) -> None:
    file = tmp_path / "temporal.txt"
    file.write_text(EVENTS)
    read = grapin.load_edges(file)
    for named in (str(file), file):
        assert _rows(temporal(named, size=2)) == _rows(temporal(read, size=2))
        assert _rows(sliding(named, count=2, step=1)) == _rows(sliding(read, count=2, step=1))
    assert len(temporal("path:5", size=2)) == 2


def test_a_graph_is_refused_because_it_keeps_no_times() -> None:
    with pytest.raises(InvalidArgument, match=r"a graph keeps no times \(grapin.stream.sample"):
        temporal(grapin.load("path:3"), size=1)  # type: ignore[arg-type]


def _rows(stream: grapin.stream.Stream) -> list[list[tuple[object, ...]]]:
    return [[tuple(row) for row in batch.insert.rows()] for batch in stream]
