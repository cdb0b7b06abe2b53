"""Monotone programs on the device equal the reference after any stream, and their parents form a forest."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import grapin
from grapin import Batch, Graph
from grapin.counters import Counters, Work, count_reads
from grapin.engine.answer import Answer
from grapin.engine.verify import verify_answer
from grapin.errors import ValueOverflow
from grapin.programs import BFS, SSSP, SSWP, ConnectedComponents, Monotone
from grapin.reference.graph import ReferenceGraph
from grapin.system import RUNNABLE, STAGED, SYSTEMS
from grapin.testing import MutationStream, mutation_streams
from grapin.testing.mutations import batches, clearances

pytest.importorskip("numba.cuda", reason="the cudasim extra is not installed")

from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.monotone.query import MonotoneQuery
from grapin.kernels.cuda.monotone.queues import ROUND
from grapin.kernels.cuda.simulator import Simulator

PROGRAMS = {program.name: program for program in (BFS, SSSP, SSWP, ConnectedComponents)}
# Lists of two neighbours are short and those of more than eight long, so that small graphs have all kinds.
SIZES = {"SHORT": 2, "LONG": 8}
some = settings(max_examples=max(settings().max_examples // 2, 1))
fewer = settings(max_examples=max(settings().max_examples // 8, 1))
simulators = st.builds(
    Simulator,
    warp=st.just(4),
    shape=st.sampled_from([Shape(1, 8), Shape(2, 4)]),
    seed=st.integers(0, 1000),
)


def make(name: str, graph: Graph) -> Monotone:
    """Sources: the first two vertices there are."""
    if name == "cc":
        return ConnectedComponents()
    return PROGRAMS[name]([int(vertex) for vertex in np.flatnonzero(graph.alive())[:2]])


class Follower:
    """A graph, and one program that follows it on the device."""

    def __init__(
        self, simulator: Simulator, graph: Graph, program: Monotone, system: str, **sizes: Any
    ) -> None:
        self.graph = graph
        self.query = MonotoneQuery(
            simulator,
            program,
            SYSTEMS[system],
            weight_dtype=graph.weight_dtype,
            directed=graph.directed,
            **(SIZES | sizes),
        )
        self.answer = Answer(program, self.query)

    def start(self, *, tracing: bool = False) -> Work:
        work = self.query.start(self.graph.snapshot(), tracing=tracing)
        verify_answer(self.answer, self.graph)
        return work

    def apply(self, batch: Batch, *, tracing: bool = False) -> Work:
        applied = self.graph.apply(batch)
        work = self.query.repair(self.graph.snapshot(), applied, tracing=tracing)
        verify_answer(self.answer, self.graph)
        return work


@st.composite
def losses(draw: st.DrawFn, graph: ReferenceGraph) -> Batch:
    """Draw a batch that takes edges away, makes others heavier, and puts a few new ones in."""
    edges = sorted(graph.arcs if graph.directed else {(min(arc), max(arc)) for arc in graph.arcs})
    kinds = st.sampled_from(["keep", "delete", "reweight"])
    fates = draw(st.lists(kinds, min_size=len(edges), max_size=len(edges)))
    there = graph.vertex_ids()
    absent = sorted({(u, v) for u in there for v in there if u <= v} - set(edges))
    new = draw(st.lists(st.sampled_from(absent), max_size=2, unique=True)) if absent else []
    return Batch(
        delete=[edge for edge, fate in zip(edges, fates, strict=True) if fate == "delete"],
        reweight=[(*edge, 2) for edge, fate in zip(edges, fates, strict=True) if fate == "reweight"],
        insert=[(*edge, draw(st.integers(0, 2))) for edge in new],
    )


@st.composite
def tied_streams(draw: st.DrawFn, *, directed: bool | None = None) -> MutationStream:
    """Draw streams on a few vertices with weights from 0 to 2: equal offers and edges that cost nothing everywhere."""
    size = draw(st.integers(2, 9))
    vertex, weight = st.integers(0, size - 1), st.integers(0, 2)
    rows = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=4 * size))
    columns = np.array(rows, np.int32).reshape(-1, 3).T
    start: dict[str, Any] = {
        "source": columns[0],
        "target": columns[1],
        "weight": columns[2],
        "vertices": size,
        "directed": draw(st.booleans()) if directed is None else directed,
        "weights": "int32",
        "duplicates": "last",
        "self_loops": "keep",
    }
    state = ReferenceGraph.from_edges(**start)
    stream = []
    for _ in range(draw(st.integers(1, 3))):
        stream.append(draw(losses(state) | batches(state, largest_weight=2) | clearances(state)))
        state.apply(stream[-1])
    return MutationStream(start, tuple(stream))


@pytest.mark.parametrize("name", PROGRAMS)
@given(
    simulator=simulators,
    stream=tied_streams(),
    system=st.just("bounded") | st.sampled_from(sorted(RUNNABLE)),
)
def test_with_ties_and_zero_weights_values_are_the_reference_s_and_parents_a_forest(
    name: str, simulator: Simulator, stream: MutationStream, system: str
) -> None:
    graph = Graph.from_edges(**stream.start)
    follower = Follower(simulator, graph, make(name, graph), system)
    follower.start()
    for batch in stream.batches:
        follower.apply(batch)


@pytest.mark.parametrize("name", PROGRAMS)
@fewer
@given(simulator=simulators, data=st.data(), system=st.sampled_from(sorted(RUNNABLE)))
def test_after_any_stream_values_are_the_reference_s(
    name: str, simulator: Simulator, data: st.DataObject, system: str
) -> None:
    weights = data.draw(st.sampled_from(["int32", "float32"] if name in {"sssp", "sswp"} else ["none"]))
    stream = data.draw(mutation_streams(weights=weights, max_batches=2))
    graph = Graph.from_edges(**stream.start)
    assume(graph.vertices)
    follower = Follower(simulator, graph, make(name, graph), system)
    follower.start()
    for batch in stream.batches:
        follower.apply(batch)


@fewer
@given(simulator=simulators, stream=tied_streams(), data=st.data())
def test_a_trace_holds_every_read_that_was_counted(
    simulator: Simulator, stream: MutationStream, data: st.DataObject
) -> None:
    graph = Graph.from_edges(**stream.start)
    name, system = data.draw(st.sampled_from(sorted(PROGRAMS))), data.draw(st.sampled_from(sorted(RUNNABLE)))
    follower = Follower(simulator, graph, make(name, graph), system)
    check_trace(follower.start(tracing=True))
    for batch in stream.batches:
        check_trace(follower.apply(batch, tracing=True))


def check_trace(work: Work) -> None:
    """Hold a trace against the counters, and its iterations against how many there were."""
    assert work.reads is not None
    iteration, _place, start, length, arrays = work.reads.T
    total = Counters()
    for count in (1, 2):
        total += count_reads(start[arrays == count], length[arrays == count], arrays=count)
    assert work.counters == total
    assert not len(iteration) or (iteration.min() >= 1 and iteration.max() <= work.iterations)


@pytest.mark.parametrize(
    "system", sorted(set(SYSTEMS) - set(STAGED))
)  # reads of copies are held in test_staging.py
def test_a_list_that_is_read_again_for_a_lost_vertex_is_an_iteration(system: str) -> None:
    # Vertex 2 is lost with its parent, and all that it was offered came from itself: its list is read once more, and
    # brings nothing, so that no round follows.
    graph = Graph.from_edges([0, 2], [2, 2], [0, 0], vertices=3, directed=False, weights="int32")
    follower = Follower(Simulator(warp=4), graph, BFS(0), system)
    check_trace(follower.start(tracing=True))
    work = follower.apply(Batch(delete_vertices=[0]), tracing=True)
    check_trace(work)
    if system == "bounded":
        assert work.reads is not None
        assert work.reads[:, 0].tolist() == [1, 1, 2]
        assert work.iterations == 2


@pytest.mark.parametrize("system", sorted(SYSTEMS))
def test_rounds_may_be_counted_beyond_32_bits(system: str) -> None:
    # Two paths, the one that is kept longer: vertices are queued again in every batch.
    graph = Graph.from_edges(
        [0, 1, 2, 0, 4], [1, 2, 3, 4, 3], [1, 1, 1, 5, 5], vertices=5, directed=False, weights="int32"
    )
    follower = Follower(Simulator(warp=4, shape=Shape(2, 4)), graph, SSSP(0), system)
    control = follower.query._board.control
    control[ROUND] = 2**31 - 4
    follower.query._state.stamps[:] = 2**31 - 5
    follower.start()
    for batch in (Batch(delete=[(0, 1)]), Batch(insert=[(0, 1, 1)]), Batch(reweight=[(0, 1, 9)])):
        follower.apply(batch)
    assert control[ROUND] > 2**31


@some
@given(
    stream=tied_streams(), name=st.sampled_from(sorted(PROGRAMS)), system=st.sampled_from(sorted(RUNNABLE))
)
def test_changes_are_counted_with_the_edges_they_affect(
    stream: MutationStream, name: str, system: str
) -> None:
    graph = Graph.from_edges(**stream.start)
    program = make(name, graph)
    follower = Follower(Simulator(warp=4), graph, program, system)
    work = follower.start()
    assert work.changed == sum(follower.query.reached(vertex) for vertex in range(graph.bound))
    for batch in stream.batches:
        before = follower.query.values().astype(np.float64)
        work = follower.apply(batch)
        after = follower.query.values().astype(np.float64)
        nothing = 0.0 if program.better == "larger" else float(grapin.programs.starting.UNREACHED)
        before = np.append(before, np.full(len(after) - len(before), nothing))
        changed = np.flatnonzero(before != after)
        worse = np.flatnonzero(before > after if program.better == "larger" else before < after)
        snapshot = graph.snapshot()
        assert snapshot.in_ is not None
        out, in_ = snapshot.out.degrees, snapshot.in_.degrees
        both = out + in_ if program.both_ways and graph.directed else out
        back = out + in_ if program.both_ways and graph.directed else in_
        assert work.changed == len(changed)
        assert work.affected_edges == both[changed].sum() + back[worse].sum()


@pytest.mark.parametrize("warp", [2, 8, 32])
def test_a_warp_may_have_any_number_of_lanes(warp: int) -> None:
    edges = grapin.generate("er:30:120", seed=1, weights=True)
    graph = Graph.from_edges(edges.source, edges.target, edges.weight, vertices=30)
    simulator = Simulator(warp=warp, shape=Shape(1, 2 * warp))
    follower = Follower(simulator, graph, SSSP(0), "bounded", SHORT=4, LONG=8)
    follower.start()
    follower.apply(
        Batch(delete=[(int(u), int(v)) for u, v in zip(edges.source, edges.target, strict=True)][::7])
    )


def test_the_same_seed_gives_the_same_parents_and_the_same_trace() -> None:
    def run() -> tuple[list[int], list[list[int]]]:
        edges = grapin.generate("er:20:80", seed=2, weights=False)
        graph = Graph.from_edges(edges.source, edges.target, vertices=20, directed=False)
        follower = Follower(Simulator(warp=4, seed=5), graph, ConnectedComponents(), "bounded")
        follower.start()
        pairs = list(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
        work = follower.apply(Batch(delete=pairs[::9]), tracing=True)
        assert work.reads is not None
        return follower.query.parents().tolist(), work.reads.tolist()

    assert run() == run()


def test_a_small_batch_on_a_large_graph_reads_little() -> None:
    graph = grapin.load("rmat:9:8", seed=3, weights="int32")
    follower = Follower(Simulator(warp=4, shape=Shape(1, 16)), graph, SSSP(0), "bounded", LONG=64)
    started = follower.start()
    source, target, _ = graph.edge_arrays()
    work = follower.apply(Batch(delete=[(int(source[i]), int(target[i])) for i in (100, 900, 2000)]))
    assert not work.dense
    assert work.counters.edges < started.counters.edges / 10


def test_a_batch_that_touches_nearly_all_is_computed_from_scratch() -> None:
    # All hangs on the first edge of a path, and each vertex has in-edges from the whole path behind it.
    size = 24
    pairs = [(u, v) for u in range(size) for v in range(size) if v == u + 1 or v < u]
    graph = Graph.from_edges(*np.array(pairs).T, vertices=size + 1)
    follower = Follower(Simulator(warp=4), graph, BFS([0, size]), "bounded")
    follower.start()
    work = follower.apply(Batch(delete=[(0, 1)], insert=[(size, size - 1)]))
    assert work.dense
    assert work.changed == size - 2  # the second vertex is two steps from a source as before


@pytest.mark.parametrize("system", ["bounded", "grapin-zc", "grapin-recomp"])
def test_a_value_beyond_32_bits_is_an_error(system: str) -> None:
    large = 2**31 - 1
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [large, large - 9, 1], vertices=4, weights="int32")
    follower = Follower(Simulator(warp=4), graph, SSSP(0), system)
    follower.start()
    with pytest.raises(ValueOverflow, match="a value of sssp does not fit into 32 bits"):
        follower.apply(Batch(reweight=[(2, 3, large)]))


@pytest.mark.parametrize("system", ["bounded", "grapin-recomp"])
def test_an_offer_beyond_32_bits_is_no_error_where_a_smaller_one_follows(system: str) -> None:
    large = 2**31 - 1
    # Vertex 2 comes before 4, and offers 3 what does not fit.
    graph = Graph.from_edges(
        [0, 1, 2, 1, 4],
        [1, 2, 3, 4, 3],
        [large, large - 100, large, large - 50, 1],
        vertices=5,
        weights="int32",
    )
    follower = Follower(Simulator(warp=4), graph, SSSP(0), system)
    follower.start()
    follower.apply(Batch(reweight=[(0, 1, large - 1)]))
    assert follower.query.values()[3] == 2 * large - 50


def test_reweighting_moves_values_both_ways() -> None:
    graph = Graph.from_edges([0, 1, 0, 2], [1, 3, 2, 3], [1, 1, 2, 2], vertices=4, weights="int32")
    follower = Follower(Simulator(warp=4), graph, SSSP(0), "bounded")
    follower.start()
    follower.apply(Batch(reweight=[(1, 3, 7)]))
    assert follower.query.values().tolist() == [0, 1, 2, 4]
    follower.apply(Batch(reweight=[(1, 3, 0), (0, 2, 5)]))
    assert follower.query.values().tolist() == [0, 1, 5, 1]
    assert follower.query.parents().tolist() == [-1, 0, 0, 1]
    assert follower.query.reached(3)
    assert follower.query.memory()["words"] >= 32


def test_a_vertex_that_is_corrected_to_something_better_passes_it_on() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [5, 1, 1], vertices=4, weights="int32")
    follower = Follower(Simulator(warp=4), graph, SSSP(0), "bounded")
    follower.start()
    follower.apply(Batch(delete=[(1, 2)], insert=[(0, 2, 1)]))
    assert follower.query.values().tolist() == [0, 5, 1, 2]
