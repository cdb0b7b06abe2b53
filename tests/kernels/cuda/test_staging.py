"""Staged lists: whatever is copied before it is read, answers are the reference's, and every byte is accounted for."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grapin import BFS, SSSP, ConnectedComponents, Engine, Graph, PageRank
from grapin.counters import Work, count_reads
from grapin.engine.answer import Answer
from grapin.engine.verify import verify_answer
from grapin.errors import InvalidArgument
from grapin.partitions import Choice, cut
from grapin.programs import Monotone
from grapin.system import (
    STAGED,
    SYSTEMS,
    Compaction,
    Filter,
    Hybrid,
    HybridReleased,
    Local,
    Priority,
    Repair,
    Schedule,
    Staged,
    System,
    Transfer,
)
from grapin.testing import MutationStream, mutation_streams

pytest.importorskip("numba.cuda", reason="this Numba has no CUDA names")

from grapin.kernels.cuda.backend import HostArrays, Shape
from grapin.kernels.cuda.monotone.query import MonotoneQuery
from grapin.kernels.cuda.one_lane import OneLane
from grapin.kernels.cuda.simulator import Simulator

PROGRAMS = ("bfs", "sssp", "cc")
WARP = 4
ROOMY = 1 << 12
"""Bytes that every list of a drawn graph fits into."""


def make(name: str, graph: Graph) -> Monotone:
    """Sources: the first two vertices there are."""
    sources = [int(vertex) for vertex in np.flatnonzero(graph.alive())[:2]]
    return {"bfs": BFS(sources), "sssp": SSSP(sources), "cc": ConnectedComponents()}[name]


@st.composite
def staged_systems(draw: st.DrawFn) -> System:
    """A system that stages lists, in as much memory as a few lists take."""
    size = draw(st.sampled_from([256, 512, ROOMY]))
    schedule = draw(
        st.builds(Schedule)
        | st.builds(Local, whole_first=st.booleans())
        | st.builds(Priority, again=st.integers(0, 2), order=st.sampled_from(["active", "natural"]))
    )
    transfer = draw(
        st.builds(
            Filter,
            partition=st.just(size),
            combine=st.integers(1, 3),
            streams=st.integers(1, 3),
        )
        | st.builds(Compaction, memory=st.just(size), threshold=st.sampled_from([0.3, 1.0]))
        | st.builds(
            Hybrid,
            partition=st.just(size),
            beta=st.sampled_from([0.4, 1.0]),
            combine=st.integers(1, 3),
            streams=st.integers(1, 3),
        )
        | st.builds(HybridReleased, segments=st.integers(1, 5), small_degree=st.sampled_from([2, 24]))
    )
    return System("drawn", "", draw(st.sampled_from(Repair)), transfer, schedule=schedule)


class Blind(OneLane):
    """A device whose kernels do not see the host's edges: whoever reads one that was not staged reads a wrong one."""

    def edges(self, array: NDArray[Any], transfer: Transfer) -> NDArray[Any]:
        return np.zeros_like(array) if isinstance(transfer, (Filter, Compaction)) else array


@cache
def blind() -> OneLane:
    return Blind(Shape(1, 32))


class Follower:
    """A program that follows a graph on a backend, reading staged lists."""

    def __init__(self, backend: HostArrays, graph: Graph, name: str, system: System, **sizes: int) -> None:
        self.graph, self.program = graph, make(name, graph)
        self.query = MonotoneQuery(
            backend,  # type: ignore[arg-type]  # which has the rest of a backend
            self.program,
            system,
            weight_dtype=graph.weight_dtype,
            directed=graph.directed,
            **sizes,
        )
        self.arrays = 1 + (self.program.weighted and graph.weight_dtype is not None)

    def check(self, work: Work) -> None:
        """Compare with the reference, and hold every byte to account."""
        verify_answer(Answer(self.program, self.query, lambda: None, self.graph), self.graph)
        tasks, counters, transfer = work.tasks, work.counters, self.query.system.transfer
        assert tasks is not None
        assert work.reads is not None
        assert isinstance(transfer, Staged)
        size, held = 4 * self.arrays, tasks[tasks["way"] != Choice.ZERO_COPY]
        assert tasks["edges"].sum() >= counters.edges == work.reads[:, 3].sum()
        assert counters.cached_edges <= held["edges"].sum()
        assert counters.copied_bytes == tasks["copied"].sum() == held["copied"].sum()
        requested = work.reads[~held_rows(work)]
        sides = [requested[requested[:, 4] == arrays] for arrays in (1, 2)]
        counted = [count_reads(*rows[:, 2:4].T, arrays=1 + number).bytes for number, rows in enumerate(sides)]
        assert counters.bytes == sum(counted)
        gathered = tasks[tasks["way"] == Choice.COMPACTION]
        index = gathered["copied"] - gathered["gathered"]
        assert (index % max(transfer.index_bytes, 1) == 0).all()
        assert (gathered["gathered"] % size == 0).all()
        lists = np.where(tasks["way"] == Choice.COMPACTION, tasks["gathered"], tasks["copied"])
        assert (lists <= capacity(self.query)).all()
        self.check_memory()
        self.check_rows(work, tasks)

    def check_memory(self) -> None:
        staging = self.query._staging
        assert staging is not None
        streams = getattr(staging.transfer, "streams", 1)
        assert staging.neighbours.nbytes + staging.weights.nbytes <= streams * capacity(self.query)
        assert all((held == -1).all() for held in staging.held)  # what is not staged any more is not found
        assert not any(active.any() for active in staging.active)

    def check_rows(self, work: Work, tasks: NDArray[Any]) -> None:
        assert work.reads is not None
        assert tasks["rows"].sum() == len(work.reads)
        ends = np.cumsum(tasks["rows"])
        for task, end in zip(tasks, ends, strict=True):
            rows = work.reads[end - task["rows"] : end]
            assert (np.diff(rows[:, 0], prepend=task["iteration"]) >= 0).all()
            if not isinstance(self.query.system.schedule, Local):
                assert (rows[:, 0] == task["iteration"]).all()
            assert rows[:, 3].sum() <= task["edges"]  # a walk may stop early
            assert len(np.unique(rows[:, 1])) <= task["lists"]


def held_rows(work: Work) -> NDArray[np.bool_]:
    """Tell which reads were of lists that were staged."""
    assert work.cached is not None
    return work.cached


def capacity(query: MonotoneQuery) -> int:
    """Return the bytes that one task may copy."""
    transfer, staging = query.system.transfer, query._staging
    assert staging is not None
    if isinstance(transfer, (Filter, Hybrid)):
        return transfer.combine * transfer.partition
    if isinstance(transfer, Compaction):
        return transfer.memory
    assert isinstance(transfer, HybridReleased)
    return int(staging.neighbours.nbytes + staging.weights.nbytes) // transfer.streams


def fits(graph: Graph, system: System) -> bool:
    """Tell whether the longest list does."""
    snapshot = graph.snapshot()
    longest = max(int(lists.degrees.max(initial=0)) for lists in (snapshot.out, snapshot.in_ or snapshot.out))
    transfer = system.transfer
    if isinstance(transfer, HybridReleased):
        return True
    assert isinstance(transfer, (Filter, Hybrid, Compaction))
    return 8 * longest <= (transfer.memory if isinstance(transfer, Compaction) else transfer.partition)


def follow(backend: HostArrays, name: str, system: System, stream: MutationStream, **sizes: int) -> None:
    graph = Graph.from_edges(**stream.start)
    assume(graph.vertices)
    assume(fits(graph, system))
    follower = Follower(backend, graph, name, system, **sizes)
    follower.check(follower.query.start(graph.snapshot(), tracing=True))
    for batch in stream.batches:
        applied = graph.apply(batch)
        assume(fits(graph, system))
        follower.check(follower.query.repair(graph.snapshot(), applied, tracing=True))


@pytest.mark.parametrize("name", PROGRAMS)
@given(system=staged_systems(), stream=mutation_streams(weights="int32"))
def test_kernels_that_see_nothing_but_staged_lists_give_the_reference_s_answer(
    name: str, system: System, stream: MutationStream
) -> None:
    follow(blind(), name, system, stream)


@given(
    name=st.sampled_from(PROGRAMS),
    system=staged_systems(),
    stream=mutation_streams(weights="int32", max_batches=1),
    seed=st.integers(0, 1000),
)
def test_simulated_lanes_read_staged_lists_alike(
    name: str, system: System, stream: MutationStream, seed: int
) -> None:
    follow(Simulator(warp=WARP, shape=Shape(1, 8), seed=seed), name, system, stream, SHORT=2, LONG=8)


@given(stream=mutation_streams(), size=st.integers(1, 200))
def test_partitions_hold_every_list_once_and_none_is_longer_than_asked_but_for_one_list(
    stream: MutationStream, size: int
) -> None:
    graph = Graph.from_edges(**stream.start)
    for batch in stream.batches:
        graph.apply(batch)
    lists = graph.snapshot().out
    begins, ends = cut(lists, size)
    assert (begins[1:] >= ends[:-1]).all()
    degrees = lists.degrees.astype(np.int64)
    place = np.searchsorted(begins, lists.starts, "right") - 1
    read = degrees > 0
    assert (lists.starts[read] + degrees[read] <= ends[place][read]).all()
    longest = np.zeros(len(begins), np.int64)
    np.maximum.at(longest, place, degrees)
    assert (ends - begins <= np.maximum(size, longest)).all()


@pytest.mark.parametrize("system", STAGED)
def test_a_preset_runs_from_its_name_and_says_what_it_copied(system: str) -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [4, 5, 6])
    engine = Engine(graph, SSSP(0), system=system, device="onelane", trace=True)
    verify_answer(engine.answers[0], graph)
    counters = engine.started.counters
    assert counters.edges == 3
    assert (counters.copied_bytes >= 8 * counters.cached_edges) & (counters.link_bytes >= 24)
    assert (counters.bytes == 0) == (counters.cached_edges == 3)
    assert engine.memory()["answers[0].staging"] > 0
    assert engine.trace.reads["cached"].sum() == counters.cached_lists


def test_a_device_that_copies_nothing_is_refused_with_those_that_do() -> None:
    graph = Graph.from_edges([0], [1])
    with pytest.raises(
        InvalidArgument, match=r"device='cpu' must be one that copies lists .*: cuda, onelane"
    ):
        Engine(graph, BFS(0), system="subway-sync", device="cpu")


def test_without_a_gpu_the_fastest_device_that_copies_lists_is_taken() -> None:
    engine = Engine(Graph.from_edges([0], [1]), BFS(0), system="exptm-filter")
    assert engine.device in ("cuda", "onelane")


@pytest.mark.parametrize(
    ("system", "setting"), [("exptm-filter", "transfer.partition"), ("subway-sync", "transfer.memory")]
)
def test_room_that_the_longest_list_does_not_fit_into_is_refused_with_both_sizes(
    system: str, setting: str
) -> None:
    graph = Graph.from_edges([0] * 9, range(1, 10))
    small = SYSTEMS[system].with_settings({setting: "32"})
    with pytest.raises(InvalidArgument, match=f"{setting}='32 B' must be at least 36 B.*: 9 edges"):
        Engine(graph, BFS(0), system=small, device="onelane")


def test_pagerank_is_refused_before_anything_is_copied() -> None:
    with pytest.raises(InvalidArgument, match="pagerank does not read staged lists yet"):
        Engine(Graph.from_edges([0], [1]), PageRank(), system="subway-sync", device="onelane")


def test_a_loaded_part_is_exhausted_before_the_next_comes_so_fewer_bytes_are_copied() -> None:
    path = list(range(60))
    copied = {}
    for name, schedule in (("rounds", Schedule()), ("local", Local(whole_first=False))):
        system = replace(
            SYSTEMS["exptm-filter"].with_settings({"transfer.partition": "4K"}), schedule=schedule
        )
        graph = Graph.from_edges(path, [vertex + 1 for vertex in path])
        engine = Engine(graph, BFS(0), system=system, device="onelane")
        verify_answer(engine.answers[0], graph)
        work = engine.started.queries[0].work
        assert work.tasks is not None
        copied[name] = work.counters.copied_bytes, len(work.tasks)
    partitions = len(cut(graph.snapshot().out, 1024)[0])
    assert copied["local"][1] == partitions  # each came once
    assert copied["rounds"][1] == len(path)  # one for every step
    assert copied["local"][0] < copied["rounds"][0]


def test_a_cache_beside_staged_lists_is_refused_before_anything_is_copied() -> None:
    with pytest.raises(InvalidArgument, match=r"cache='10%' must be left out under system='hytgraph'"):
        Engine(Graph.from_edges([0], [1]), BFS(0), system="hytgraph", device="onelane", cache="10%")


def test_more_memory_never_copies_more_when_lists_are_gathered() -> None:
    graph = Graph.from_edges(list(range(40)) * 2, [(7 * v + 3) % 41 for v in range(80)])
    copied = []
    for memory in ("64", "256", "1M"):
        system = replace(
            SYSTEMS["subway-sync"].with_settings({"transfer.memory": memory}), repair=Repair.RECOMPUTE
        )
        engine = Engine(graph, BFS(0), system=system, device="onelane")
        work = engine.started.queries[0].work
        assert work.tasks is not None
        copied.append((work.counters.copied_bytes, -len(work.tasks)))
    assert [size for size, _ in copied] == [copied[0][0]] * 3
    assert copied == sorted(copied)
