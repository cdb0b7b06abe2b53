"""The one-lane device: the kernels' own schedule at the speed of machine code, held against reference and simulator."""

import os
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grapin import BFS, SSSP, SSWP, ConnectedComponents, Engine, Graph, PageRank
from grapin.counters import Work
from grapin.device import open_device
from grapin.engine.verify import verify_answer, verify_copies
from grapin.errors import InvalidArgument
from grapin.kernels.rules import fingerprint
from grapin.programs import Program, Triangles
from grapin.system import RUNNABLE, SYSTEMS, Rounds
from grapin.testing import MutationStream, mutation_streams

pytest.importorskip("numba.cuda", reason="this Numba has no CUDA names")

from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.monotone.query import MonotoneQuery
from grapin.kernels.cuda.one_lane import OneLane
from grapin.kernels.cuda.simulator import Simulator

FROM_SOURCES = {program.name: program for program in (BFS, SSSP, SSWP)}
PROGRAMS = (*FROM_SOURCES, ConnectedComponents.name, PageRank.name, Triangles.name)
# Each kind of weight that a program reads is compiled again.
KINDS = {"bfs": ["none"], "sssp": ["int32"], "sswp": ["float32"], "cc": ["none"], "pagerank": ["none"]}
KINDS |= {"triangles": ["none"]}
if os.environ.get("GRAPIN_PROFILE") == "deep":
    KINDS = {name: ["int32", "float32", "none"] for name in KINDS}
WARP = 4
LEFT_TO_THE_DEVICE = [name for name in RUNNABLE if not isinstance(SYSTEMS[name].schedule, Rounds)]
"""Which lists are in flight at once, one lane is told where a system says it, and the simulator decides by chance."""


def make(name: str, graph: Graph) -> Program:
    """Sources: the first two vertices there are."""
    if name == "pagerank":
        return PageRank(tolerance=1e-6)
    if name == "cc":
        return ConnectedComponents()
    if name == "triangles":
        return Triangles()
    return FROM_SOURCES[name]([int(vertex) for vertex in np.flatnonzero(graph.alive())[:2]])


@pytest.mark.parametrize("name", PROGRAMS)
@given(data=st.data())
def test_after_any_stream_every_system_gives_the_reference_s_answer(name: str, data: st.DataObject) -> None:
    system = data.draw(st.sampled_from(RUNNABLE), label="system")
    weights = data.draw(st.sampled_from(KINDS[name]), label="weights")
    cached = SYSTEMS[system].cache != "none" and data.draw(st.booleans(), label="cached")
    mutations: MutationStream = data.draw(mutation_streams(weights=weights), label="mutations")
    graph = Graph.from_edges(**mutations.start)
    assume(graph.vertices)
    engine = Engine(
        graph, make(name, graph), system=system, device="onelane", cache=200 if cached else None, trace=True
    )
    verify_answer(engine.answers[0], graph)
    for batch in mutations.batches:
        engine.apply(batch)
        verify_answer(engine.answers[0], graph)
        if cached:
            verify_copies(engine._cache, graph.snapshot())


class Follower:
    """BFS that follows a graph on a backend."""

    def __init__(self, backend: Any, start: dict[str, Any], system: str) -> None:
        self.graph = Graph.from_edges(**start)
        sources = [int(vertex) for vertex in np.flatnonzero(self.graph.alive())[:1]]
        self.query = MonotoneQuery(
            backend,
            BFS(sources),
            SYSTEMS[system],
            weight_dtype=self.graph.weight_dtype,
            directed=self.graph.directed,
            SHORT=2,
            LONG=8,
        )

    def works(self, batches: Any) -> list[Work]:
        """Return what the start and each batch read."""
        found = [self.query.start(self.graph.snapshot(), tracing=True)]
        for batch in batches:
            applied = self.graph.apply(batch)
            found.append(self.query.repair(self.graph.snapshot(), applied, tracing=True))
        return found


@cache
def one_lane_like(shape: Shape) -> OneLane:
    return OneLane(shape, line=WARP)


def rows(work: Work) -> list[list[int]]:
    """Which warp came first within a round is chance."""
    assert work.reads is not None
    return sorted(work.reads.tolist())


@given(
    stream=mutation_streams(weights="none", max_batches=2),
    shape=st.sampled_from([Shape(1, 8), Shape(2, 4)]),
    system=st.sampled_from(LEFT_TO_THE_DEVICE),
    seed=st.integers(0, 1000),
)
def test_bfs_reads_the_lists_that_the_simulated_gpu_reads_round_by_round(
    stream: MutationStream, shape: Shape, system: str, seed: int
) -> None:
    assume(Graph.from_edges(**stream.start).vertices)
    simulated = Follower(Simulator(warp=WARP, shape=shape, seed=seed), stream.start, system)
    one_lane = Follower(one_lane_like(shape), stream.start, system)
    pairs = zip(one_lane.works(stream.batches), simulated.works(stream.batches), strict=True)
    for ours, theirs in pairs:
        assert rows(ours) == rows(theirs)
        assert ours.counters == theirs.counters
        assert (ours.iterations, ours.changed, ours.dense) == (
            theirs.iterations,
            theirs.changed,
            theirs.dense,
        )


def test_what_a_function_is_bound_to_is_a_part_of_its_name_however_deep_it_lies() -> None:
    backend = OneLane(Shape(1, 32))

    def bound(limit: int) -> Any:
        inner = backend.function(below, LIMIT=limit)
        return backend.kernel(take, "any", below=inner)

    def taken(kernel: Any) -> int:
        found = np.zeros(1, np.int64)
        backend.launch(kernel, found, 5)
        return int(found[0])

    assert [taken(bound(limit)) for limit in (3, 7, 3)] == [0, 1, 0]
    assert bound(3) is bound(3)


LIMIT = 0


def below(value: Any) -> Any:
    return value < LIMIT


def take(found: Any, value: Any) -> None:
    if below(value):
        found[0] += 1


def test_a_table_that_a_rule_looks_up_is_a_part_of_its_fingerprint() -> None:
    def prints(table: Any) -> str:
        return fingerprint(look_up, {"TABLE": table})

    long = np.arange(5000)
    other = long.copy()
    other[2500] = 0
    assert prints(long) != prints(other)
    assert prints(long) == prints(long.copy())


TABLE = np.zeros(0)


def look_up(value: Any) -> Any:
    return TABLE[value]


def test_a_second_process_compiles_nothing() -> None:
    program = (
        "from grapin import BFS, Engine, Graph\n"
        "from grapin.compilations import compilations\n"
        "Engine(Graph.from_edges([0, 1], [1, 2]), BFS(0), device='onelane')\n"
        "print(compilations())\n"
    )
    said = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert said[1] == "0\n"


def test_a_device_stands_for_a_gpu_of_the_width_behind_its_name() -> None:
    graph = Graph.from_edges([0, 1], [1, 2])
    engine = Engine(graph, BFS(0), device="onelane:132", trace=True)
    assert engine.device == engine.trace.about["device"] == "onelane:132"
    wide, usual = open_device("onelane:132"), open_device("onelane")
    assert backend_of(wide).shape == Shape(528, 256)
    assert backend_of(usual).shape == Shape(256, 256)


def backend_of(device: Any) -> OneLane:
    query = device.query(BFS(0), SYSTEMS["bounded"], weight_dtype=None, directed=True, threads=1)
    found: OneLane = query._backend
    return found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("onelane:0", "device='onelane:0' must name 1 to 4096 multiprocessors"),
        ("onelane:many", "device='onelane:many' must name 1 to 4096 multiprocessors"),
        ("onelane:", "device='onelane:' must name 1 to 4096 multiprocessors"),
        ("cpu:4", "device='cpu:4' must be 'cpu', which has no setting"),
        ("onelan:4", "did you mean 'onelane'"),
    ],
)
def test_a_setting_that_a_device_does_not_have_is_refused(name: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        open_device(name)
