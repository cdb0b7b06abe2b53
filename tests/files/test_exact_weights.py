"""No whole number becomes another one unasked: one rule for files, arrays, batches, conversions and streams."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from writing import loaded

import grapin
from grapin import reference
from grapin.cli.main import main
from grapin.convert import from_arrays, from_networkx, from_scipy
from grapin.edges import EdgeList, lost_in_float32
from grapin.errors import GrapinError, InvalidArgument, InvalidBatch, InvalidFile
from grapin.files.weights import merge
from grapin.stream import workload

LOST = 2**24 + 1
"""The first whole number that 32-bit floats do not have; they have the ones before and behind it."""
LARGEST_INT = 2**31 - 1
NAMED = {"columns": "source,target,weight"}
WHOLE = st.integers(0, 2**64 - 1) | st.integers(LOST - 9, LOST + 9) | st.integers(2**31 - 3, 2**31 + 3)


@given(WHOLE | st.floats(0, 2.0**60))
def test_what_a_float_loses_is_told_as_exact_arithmetic_tells_it(number: float) -> None:
    counted = isinstance(number, int) or (number < 2**53 and number == int(number))
    assert lost_in_float32(np.array([number])).tolist() == [counted and int(np.float32(number)) != number]


@given(st.lists(WHOLE.filter(lambda one: one < 2**63), min_size=1, max_size=4))
def test_files_and_arrays_take_whole_numbers_as_they_are_or_refuse_them(weights: list[int]) -> None:
    data = "".join(f"{row} {row + 1} {weight}\n" for row, weight in enumerate(weights)).encode()
    ends = np.arange(len(weights)), np.arange(len(weights)) + 1
    taken: tuple[Callable[[str], Any], ...] = (
        lambda how: loaded("a.txt", data, **NAMED, weights=how).weight,
        lambda how: grapin.Graph.from_edges(
            *ends, weights, weights=None if how == "keep" else how
        ).edge_arrays()[2],
    )
    for how, fits in (
        ("keep", max(weights) <= LARGEST_INT),
        ("float32", all(int(np.float32(weight)) == weight for weight in weights)),
    ):
        for take in taken:
            if fits:
                assert [int(weight) for weight in take(how)] == weights
            else:
                with pytest.raises(GrapinError, match=r"weight [0-9]+ (in weight )?must be"):
                    take(how)


def refused() -> dict[str, Callable[[], Any]]:
    """Return every way in by which a whole number could be rounded."""
    real = grapin.Graph.from_edges([0], [1], np.array([0.5], np.float32))
    judge = reference.ReferenceGraph.from_edges([0], [1], np.array([0.5], np.float32))
    ends = np.array([0, 1]), np.array([1, 2])
    mixed = np.array([0.5, LOST])
    nodes = nx.DiGraph()
    nodes.add_weighted_edges_from([(0, 1, 0.5), (1, 2, LOST)])
    columns: Any = [end.astype(np.int32) for end in ends]
    edges = EdgeList(columns[0], columns[1], 3, weight=mixed)
    stream = workload(edges, batches=1, size=1, seed=0)
    sums = [2.0**24, 1.0]
    return {
        "file": lambda: loaded("a.txt", f"0 1 0.5\n1 2 {LOST}\n".encode()),
        "file, float32": lambda: loaded("a.txt", f"0 1 {LOST}\n".encode(), weights="float32"),
        "file, shift": lambda: loaded("a.txt", f"0 1 -0.5\n1 2 {LOST - 0.5}\n".encode(), weights="shift"),
        "from_edges": lambda: grapin.Graph.from_edges(*ends, mixed),
        "from_edges, whole": lambda: grapin.Graph.from_edges([0], [1], [LOST], weights="float32"),
        "from_edges, sum": lambda: grapin.Graph.from_edges([0, 0], [1, 1], sums, duplicates="sum"),
        "the judge's sum": lambda: reference.ReferenceGraph.from_edges(
            [0, 0], [1, 1], sums, duplicates="sum"
        ),
        "merge, sum": lambda: merge(
            replace(edges, source=columns[0] * 0, target=columns[0] * 0, weight=np.array(sums, np.float32)),
            "sum",
        ),
        "from_arrays": lambda: from_arrays(*ends, mixed),
        "from_networkx": lambda: from_networkx(nodes),
        "from_scipy": lambda: from_scipy(sparse.coo_array((mixed, ends), shape=(3, 3))),
        "batch": lambda: grapin.Batch(insert=[(0, 1, float(LOST))]),
        "batch, reweight": lambda: grapin.Batch(reweight=[(0, 1, 0.5), (1, 2, LOST)]),
        "whole batch, real graph": lambda: real.apply(grapin.Batch(reweight=[(0, 1, LOST)])),
        "whole batch, the judge's": lambda: judge.apply(grapin.Batch(reweight=[(0, 1, LOST)])),
        "stream": lambda: [stream.graph(), *stream],
    }


@pytest.mark.parametrize("way", refused())
def test_no_way_in_rounds_a_whole_number(way: str) -> None:
    with pytest.raises((InvalidArgument, InvalidBatch, InvalidFile), match="exact"):
        refused()[way]()


def test_numbers_that_are_not_whole_are_rounded_and_floats_of_32_bits_taken() -> None:
    for weight in (0.1, 1e30, 16777217.5, np.float32(LOST)):
        column = np.array([weight])
        graph = grapin.Graph.from_edges([0], [1], column)
        graph.apply(grapin.Batch(insert=([1], [0], column)))
        stored = graph.edge_arrays()[2]
        assert stored is not None
        assert stored.tolist() == [np.float32(weight)] * 2


@pytest.mark.parametrize(
    ("data", "options", "sentence"),
    [
        (b"0 1 1\n1 2 2147483648\n", {}, ("line 2: the weight 2147483648 must be at most 2147483647 as a whole number; "
         "weights='float32' takes larger ones, 'round' rounds them")),
        (b"0 1 0.5\n1 2 16777217\n", {}, ("line 2: the weight 16777217.0 must be exact as a 32-bit float, which it is "
         "not: weights='round' rounds it")),
        (b"0 1 18446744073709551617\n", {}, "line 1: the weight must be below 2"),
        (b"0 1 -1\n", {"weights": "round"}, "line 1: the weight -1 must not be negative"),
    ],
)  # fmt: skip
def test_a_file_is_refused_by_line_with_the_remedy(data: bytes, options: Any, sentence: str) -> None:
    with pytest.raises(InvalidFile) as refusal:
        loaded("a.txt", data, **NAMED, **options)
    assert sentence in str(refusal.value)


def test_rounding_that_was_asked_for_is_reported() -> None:
    edges = loaded("a.txt", b"0 1 16777217\n1 2 2147483648\n2 3 16777219\n", **NAMED, weights="round")
    assert edges.weight is not None
    assert edges.weight.dtype == np.float32
    assert edges.weight.tolist() == [16777216, 2147483648, 16777220]
    assert list(edges.notes) == [
        "Whole numbers rounded to 32-bit floats: 2, the first from 16777217 to 16777216."
    ]


def test_load_and_run_keep_to_the_same_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.csv"
    file.write_text("source,target,weight\n" + f"0,1,{LOST}\n1,2,{2**31}\n" + "2,3,1\n3,4,1\n" * 4)
    for weights in ("keep", "float32"):
        with pytest.raises(InvalidFile, match=r"must be (at most|exact)"):
            grapin.load(file, weights=weights)
        run = ["run", str(file), "--weights", weights, "--batches", "1", "--batch-size", "1"]
        assert main(run) == 2
        assert "must be" in capsys.readouterr().err
    rounded = grapin.load(file, weights="round").edge_arrays()[2]
    assert rounded is not None
    assert rounded.tolist()[:2] == [2**24, 2**31]
    assert main([*run[:3], "round", *run[4:], "--verify"]) == 0


def test_updates_with_real_weights_do_not_round_the_whole_ones_of_the_graph(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, updates = tmp_path / "graph.csv", tmp_path / "updates.csv"
    graph.write_text(f"source,target,weight\n0,1,{LOST}\n1,2,3\n")
    updates.write_text("source,target,weight,time\n0,2,0.5,1\n")
    assert main(["run", str(graph), "--updates", str(updates), "--source", "0"]) == 2
    assert f"weight {LOST} in {graph} must be exact as a 32-bit float" in capsys.readouterr().err


@pytest.mark.parametrize("weights", ["float32", "round"])
def test_a_generated_graph_has_the_type_that_was_asked_for(weights: str) -> None:
    assert grapin.load("path:9", weights=weights).weight_dtype in {None, np.dtype(np.float32)}
    assert grapin.load("rmat:4:2", weights=weights).weight_dtype == np.float32
