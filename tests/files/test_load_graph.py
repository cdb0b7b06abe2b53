"""`grapin.load`: files and generators as graphs, as they stand at the end."""

import gzip
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.errors import InvalidArgument
from grapin.progress import Advance

EVENTS = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.sampled_from([1, -1]), st.integers(0, 6)),
    min_size=1,
    max_size=25,
)


def arcs(graph: grapin.Graph) -> list[tuple[Any, ...]]:
    source, target, weight = graph.edge_arrays()
    columns = [source.tolist(), target.tolist()] + ([] if weight is None else [weight.tolist()])
    return sorted(zip(*columns, strict=True))


@given(events=EVENTS)
def test_the_last_event_of_an_edge_decides(
    events: list[tuple[int, int, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("events") / "out.events"
    path.write_text("% asym dynamic\n" + "".join(f"{u} {v} {sign} {time}\n" for u, v, sign, time in events))
    last = {(u - 1, v - 1): sign for u, v, sign, _ in sorted(events, key=lambda event: event[3])}
    assert arcs(grapin.load(path)) == sorted(edge for edge, sign in last.items() if sign > 0)


@pytest.mark.parametrize(("rule", "weight"), [("last", 7), ("first", 9), ("min", 7), ("max", 9), ("sum", 24)])
def test_weights_of_repeated_edges_follow_the_rule_in_order_of_time(
    rule: str, weight: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("u,v,w,t\n0,1,7,3\n0,1,8,2\n0,1,9,1\n")
    assert arcs(grapin.load(path, duplicates=rule)) == [(0, 1, weight)]


def test_options_reach_the_graph(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("alice bob 3\nbob bob 4\n")
    graph = grapin.load(path, directed=False, self_loops="drop", weights="float32", strict=True)
    graph.check()
    assert arcs(graph) == [(0, 1, 3.0), (1, 0, 3.0)]
    assert graph.weight_dtype == "float32"
    assert graph.strict
    assert graph.labels is not None
    assert graph.labels.vertex("bob") == 1
    assert grapin.load(path, weights="none").weight_dtype is None


def test_generators_stand_wherever_a_path_can() -> None:
    edges = grapin.generate("rmat:6:4", seed=3)
    rows = sorted(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    assert [arc[:2] for arc in arcs(grapin.load("rmat:6:4", seed=3))] == rows
    assert grapin.load("path:3", weights="ignore", directed=False).edges == 4


def test_an_unknown_way_to_treat_weights_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="weights='negative' must be one of"):
        grapin.load("path:3", weights="negative")


def test_loading_edges_needs_neither_numba_nor_scipy(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    code = (
        "import sys, grapin; assert len(grapin.load_edges(sys.argv[1])) == 1;"
        "print([name for name in ('numba', 'scipy', 'simpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_progress_bar_counts_the_bytes_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"0 1\n1 2\n" * 100_000))
    read: list[float] = []
    totals: list[float | None] = []

    @contextmanager
    def recorded(_label: str, total: float | None = None) -> Iterator[Advance]:
        totals.append(total)
        yield read.append

    monkeypatch.setattr("grapin.files.read.progress", recorded)
    grapin.load_edges(path)
    assert totals == [path.stat().st_size]
    assert sum(read) >= path.stat().st_size


def test_streams_end_with_the_published_number_of_edges(shared_data: Path) -> None:
    graph = grapin.load(shared_data / "out.wine-includes.zst")
    assert graph.edges == 95_093 - 51_294
    assert graph.vertices == 15_805
