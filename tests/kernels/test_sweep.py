"""Whatever the graph, the threads and the split into rounds: keys equal the reference, parents explain them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grapin.counters import count_reads
from grapin.generators import generate
from grapin.graph.graph import Graph
from grapin.kernels.cpu.lists import (
    EDGES,
    ITERATIONS,
    LEAST_VERTICES,
    LISTS,
    OVERFLOWS,
    PAGES,
    REQUESTS,
    arrays_of,
    new_tally,
)
from grapin.kernels.cpu.monotone import rounds as sweeping
from grapin.kernels.cpu.monotone.query import bind_monotone
from grapin.kernels.cpu.monotone.rounds import Swept, start_words, sweep
from grapin.kernels.rules import LOW, NO_KEY, SHIFT, coding
from grapin.programs import BFS, SSSP, ConnectedComponents, Monotone
from grapin.programs.starting import source_arrays
from grapin.reference.programs import UNREACHED
from grapin.reference.verify import verify_bfs, verify_components, verify_sssp
from grapin.testing import graphs

THREADS = st.sampled_from([1, 2, 4])
SPLITS = st.sampled_from([(1, 0), (1, 2), (40, 4), (1 << 15, 1 << 12)])
"""Width from which rounds are shared, and vertices of different keys taken together."""


class Case:
    """One program on one graph, ready to be swept."""

    def __init__(self, graph: Graph, program: Monotone) -> None:
        self.graph = graph
        snapshot = graph.snapshot()
        assert snapshot.in_ is not None
        reads = program.weighted and graph.weight_dtype is not None
        out, into = (arrays_of(lists, weights=reads) for lists in (snapshot.out, snapshot.in_))
        sides = 2 if program.both_ways and graph.directed else 1
        self.pulls, self.pushes = ((into, out)[:sides], (out, into)[:sides])
        self.code = coding(program, graph.weight_dtype)
        self.kernels = bind_monotone(
            program, self.code, stored_weights=graph.weight_dtype is not None, sides=sides
        )
        roots, values = source_arrays(program, real=self.code.real)
        alive = np.append(graph.alive(), np.zeros(max(LEAST_VERTICES - graph.bound, 0), np.bool_))
        self._words, self.active = start_words(self.kernels, alive, roots, self.code.encode(values))
        self.tally = new_tally()

    def sweep(self, threads: int, active: NDArray[np.int32] | None = None, **options: Any) -> Swept:
        return sweep(
            self.kernels,
            self._words,
            self.pulls,
            self.pushes,
            self.active if active is None else active,
            threads=threads,
            tally=self.tally,
            **options,
        )

    @property
    def words(self) -> NDArray[np.uint64]:
        """Those of the graph's vertices; kernels have a few more where there are next to none."""
        return self._words[: self.graph.bound]

    def reached(self) -> NDArray[np.int32]:
        return np.flatnonzero(self.keys != NO_KEY).astype(np.int32)

    @property
    def keys(self) -> NDArray[np.uint32]:
        return (self.words >> SHIFT).astype(np.uint32)

    @property
    def parents(self) -> NDArray[np.int32]:
        return (self.words & LOW).astype(np.uint32).view(np.int32)

    def values(self, unreached: float) -> NDArray[Any]:
        values = self.code.decode(self.keys)
        return np.where(self.keys == NO_KEY, unreached, values)


@pytest.fixture(autouse=True)
def _restore_splits() -> Iterator[None]:
    before = sweeping.SHARED_FROM, sweeping.MERGE_LIMIT
    yield
    sweeping.SHARED_FROM, sweeping.MERGE_LIMIT = before


def split_rounds(splits: tuple[int, int]) -> None:
    sweeping.SHARED_FROM, sweeping.MERGE_LIMIT = splits


@given(graphs(weights="none"), THREADS, SPLITS, st.data())
def test_depths_equal_the_reference(
    start: dict[str, Any], threads: int, splits: tuple[int, int], data: st.DataObject
) -> None:
    graph = Graph.from_edges(**start)
    if graph.bound:
        sources = data.draw(st.lists(st.integers(0, graph.bound - 1), min_size=1, max_size=3, unique=True))
        split_rounds(splits)
        case = Case(graph, BFS(sources))
        case.sweep(threads)
        verify_bfs(graph, sources, case.values(UNREACHED), case.parents)


@pytest.mark.parametrize("weights", ["int32", "float32"])
@given(st.data(), THREADS, SPLITS)
def test_distances_equal_the_reference_also_over_zero_weights(
    weights: str, data: st.DataObject, threads: int, splits: tuple[int, int]
) -> None:
    graph = Graph.from_edges(**data.draw(graphs(weights=weights)))
    if graph.bound:
        source = data.draw(st.integers(0, graph.bound - 1))
        split_rounds(splits)
        case = Case(graph, SSSP(source))
        case.sweep(threads)
        unreached = UNREACHED if weights == "int32" else np.inf
        verify_sssp(graph, source, case.values(unreached), case.parents)


@given(graphs(weights="none"), THREADS, SPLITS)
def test_labels_equal_the_reference(start: dict[str, Any], threads: int, splits: tuple[int, int]) -> None:
    graph = Graph.from_edges(**start)
    split_rounds(splits)
    case = Case(graph, ConnectedComponents())
    case.sweep(threads)
    verify_components(graph, case.values(UNREACHED), case.parents)


@given(graphs(weights="int32"), THREADS, st.randoms(use_true_random=False))
def test_changes_are_the_keys_that_differ_and_what_they_were(
    start: dict[str, Any], threads: int, chance: Any
) -> None:
    graph = Graph.from_edges(**start)
    if graph.bound:
        split_rounds((1, 2))
        case = Case(
            graph,
            SSSP({0: 7} | {v: chance.randrange(50) for v in range(graph.bound) if chance.random() < 0.5}),
        )
        before = case.keys
        swept = case.sweep(threads, changes=True)
        assert swept.vertices is not None
        assert swept.old_keys is not None
        assert swept.vertices.tolist() == np.flatnonzero(case.keys != before).tolist()
        assert swept.old_keys.tolist() == before[swept.vertices].tolist()


@given(graphs(weights="int32"), THREADS)
def test_at_the_fixed_point_every_reached_vertex_offers_once_and_nothing_changes(
    start: dict[str, Any], threads: int
) -> None:
    graph = Graph.from_edges(**start)
    if graph.bound:
        case = Case(graph, SSSP(0))
        case.sweep(threads)
        words, active = case.words.copy(), case.reached()
        case.tally[:] = 0
        case.sweep(threads, active)
        assert np.array_equal(case.words, words)
        assert case.tally[EDGES] == case.pushes[0][1][active].sum()


def crowd(scale: int) -> tuple[Graph, int]:
    """Return a skewed graph and its largest hub."""
    edges = generate(f"rmat:{scale}:16", seed=1)
    graph = Graph.from_edges(edges.source, edges.target, edges.weight, vertices=edges.vertices)
    return graph, int(np.argmax(graph.snapshot().out.degrees))


def from_hub(program: type[Monotone], hub: int) -> Monotone:
    return program() if program.start is not None else program(hub)


@pytest.mark.parametrize("program", [BFS, SSSP, ConnectedComponents])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_trace_adds_up_to_the_tally(program: type[Monotone], threads: int) -> None:
    graph, hub = crowd(10)
    split_rounds((64, 8))
    case = Case(graph, from_hub(program, hub))
    swept = case.sweep(threads, trace=True)
    assert swept.reads is not None
    iterations, _places, starts, lengths, arrays = swept.reads.T
    counted = count_reads(starts, lengths, arrays=int(arrays[0]))
    assert swept.iterations == case.tally[ITERATIONS] == iterations.max()
    assert np.all(np.diff(iterations) >= 0)
    assert (counted.edges, counted.lists, counted.pages) == tuple(case.tally[[EDGES, LISTS, PAGES]])
    assert list(counted.requests.values()) == case.tally[REQUESTS : REQUESTS + 4].tolist()


@pytest.mark.parametrize("program", [BFS, SSSP, ConnectedComponents])
def test_keys_do_not_depend_on_threads_and_no_list_is_read_twice(program: type[Monotone]) -> None:
    graph, hub = crowd(12)
    split_rounds((64, 0))
    cases = [Case(graph, from_hub(program, hub)) for _ in range(3)]
    for case, threads in zip(cases, (1, 2, 4), strict=True):
        case.sweep(threads)
        assert np.array_equal(case.keys, cases[0].keys)
        assert case.tally[EDGES] <= graph.edges
    if not program.weighted:
        assert cases[0].tally[EDGES] < graph.edges / 4  # most vertices find their value by pulling


def test_an_offer_that_does_not_fit_is_counted_and_never_taken() -> None:
    weight = 2**31 - 1
    case = Case(Graph.from_edges([0, 1, 2], [1, 2, 3], [weight, weight, weight]), SSSP(0))
    case.sweep(1)
    assert case.tally[OVERFLOWS] == 1
    assert case.keys.tolist() == [0, weight, 2 * weight, int(NO_KEY)]
