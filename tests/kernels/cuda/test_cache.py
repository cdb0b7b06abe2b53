"""A cache in device memory: after any batch answers and copies are right, and what crossed the link is counted."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import grapin
from grapin import Batch, Graph
from grapin.cache import CacheSettings, policies, replay
from grapin.cli.main import main
from grapin.engine.verify import verify_engine
from grapin.errors import DeviceUnavailable, WrongAnswer
from grapin.programs import BFS, SSSP, ConnectedComponents, PageRank, Program
from grapin.system import ZeroCopy
from grapin.testing import mutation_streams

pytest.importorskip("numba.cuda", reason="the cudasim extra is not installed")

from cache_checking import check_mending, check_moves

from grapin.kernels.cuda import simulator, walk
from grapin.kernels.cuda.accumulative import flows
from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.cache import CudaCache
from grapin.kernels.cuda.cache.copies import DeviceCopies
from grapin.kernels.cuda.lists import DeviceLists, new_reading
from grapin.kernels.cuda.simulator import Simulator
from grapin.kernels.cuda.walk import bind_walk

some = settings(max_examples=max(settings().max_examples // 5, 1))
ROOM = CacheSettings("adaptive", 4000)


@contextmanager
def small_device(seed: int = 0, shape: Shape | None = None) -> Iterator[None]:
    """Let `cudasim` have warps of four lanes, and take lists of three neighbours to a warp, of nine to blocks."""
    made = partial(Simulator, warp=4, shape=shape or Shape(2, 4), seed=seed)
    with (
        patch.object(simulator, "Simulator", made),
        patch.multiple(walk, SHORT=2, LONG=8),
        patch.object(flows, "LONG", 8),
        patch.object(policies, "FEWEST", 16),  # so that small graphs see choices in the middle of a phase
    ):
        yield


def cached(engine: grapin.Engine) -> CudaCache:
    cache = engine._cache
    assert isinstance(cache, CudaCache)
    return cache


def check_space(engine: grapin.Engine) -> None:
    """Slots lie within the room that was asked for, beside each other, and so do the words that kernels go by."""
    cache = cached(engine)
    chunks, copies = cache.hot.holdings.chunks, cache.copies
    held = chunks.held()
    ends = chunks.positions[held] + chunks.rooms[held]
    assert (ends[:-1] <= chunks.positions[held][1:]).all()
    assert chunks.used + chunks.free == chunks.capacity >= ends.max(initial=0)
    assert copies.neighbours.nbytes + copies.weights.nbytes <= cache.hot.settings.capacity
    known = np.stack([copies.held[side][: engine.graph.bound] for side in (0, 1)], axis=1).ravel()
    assert sorted(np.flatnonzero(known >= 0)) == sorted(held)
    assert (known[held] >> 2 == chunks.positions[held]).all()


@pytest.mark.parametrize("system", ["bounded", "grapin-zc"])
@pytest.mark.parametrize("policy", ["none", "published", "adaptive"])
@some
@given(data=st.data())
def test_after_any_stream_answers_and_copies_are_right_and_a_replay_counts_the_same(
    policy: str, system: str, data: st.DataObject
) -> None:
    stream = data.draw(mutation_streams(weights=data.draw(st.sampled_from(["int32", "float32"]))))
    graph = Graph.from_edges(**stream.start)
    assume(graph.vertices)
    room = CacheSettings(
        policy,
        data.draw(st.integers(0, 64) | st.integers(64, 1500), label="capacity"),
        chunk=data.draw(st.integers(8, 200) | st.just(1 << 20), label="chunk"),
        window=data.draw(st.integers(1, 3), label="window"),
    )
    source = int(np.flatnonzero(graph.alive())[0])
    ranks: list[Program] = [SSSP(source), PageRank(tolerance=1e-2)]
    labels: list[Program] = [ConnectedComponents(), SSSP(source)]
    programs = data.draw(st.sampled_from([ranks, labels]), label="programs")
    with small_device(data.draw(st.integers(0, 1000), label="seed")):
        engine = grapin.Engine(graph, programs, system=system, device="cudasim", trace=True, cache=room)
        reports = [engine.started]
        verify_engine(engine)
        for batch in stream.batches:
            reports.append(engine.apply(batch))
            verify_engine(engine)
            check_space(engine)
        trace = engine.trace
        replayed = list(
            replay(room, trace.reads, trace.phases, trace.changes, arrays=trace.about["cache"]["arrays"])
        )
    assert [query.work.counters for report in reports for query in report.queries] == [
        observed.counters if plan is None else plan.counters + observed.counters
        for plan, observed in replayed
    ]
    held = np.concatenate([observed.held for _, observed in replayed])
    assert (trace.reads["cached"] == (held >= trace.reads["arrays"])).all()


@pytest.mark.parametrize("policy", ["published", "adaptive"])
def test_counting_does_not_depend_on_whether_a_trace_is_kept(policy: str) -> None:
    counted = []
    for trace in (False, True):
        with small_device():
            stream = grapin.stream.workload(grapin.generate("rmat:5:4"), batches=3, size=8, seed=1)
            engine = grapin.Engine(
                stream.graph(), SSSP(0), device="cudasim", cache=CacheSettings(policy, 400), trace=trace
            )
            counted.append([engine.apply(batch).counters for batch in stream])
    assert counted[0] == counted[1]
    assert sum(one.cached_edges for one in counted[0]) > 0


def hub() -> Graph:
    """Return a graph in which vertex 0 has 40 neighbours."""
    return Graph.from_edges([0] * 40, range(1, 41), weight=range(40), weights="int32")


CHANGE = Batch(delete=[(0, 1), (0, 40)], insert=[(1, 40, 7)], reweight=[(0, 2, 9)])


def test_a_changed_list_is_mended_on_the_device_by_what_it_missed() -> None:
    with small_device():
        graph = hub()
        engine = grapin.Engine(graph, SSSP(0), device="cudasim", system="grapin-zc", cache=ROOM)
        assert engine.started.counters.cached_edges == 0
        counters = engine.apply(CHANGE).counters
        verify_engine(engine)
    assert (counters.patch_bytes, counters.cached_edges) == (32, 38)


def test_a_copy_that_is_not_mended_is_found() -> None:
    with small_device(), patch.object(DeviceCopies, "_mend", lambda *_arguments: None):
        engine = grapin.Engine(hub(), SSSP(0), device="cudasim", system="grapin-zc", cache=ROOM)
        engine.apply(CHANGE)
        with pytest.raises(WrongAnswer):
            verify_engine(engine)


@given(data=st.data(), seed=st.integers(0, 1000))
@some
def test_copies_are_moved_and_mended_as_the_books_say(data: st.DataObject, seed: int) -> None:
    backend = Simulator(warp=4, shape=data.draw(st.sampled_from([Shape(1, 8), Shape(2, 4)])), seed=seed)
    check_moves(backend, data)
    check_mending(backend, data)


@pytest.mark.parametrize("stops", [False, True])
def test_only_a_walk_through_whole_lists_writes_into_slots(stops: bool) -> None:
    backend = Simulator(warp=4, shape=Shape(2, 4))
    walks = bind_walk(
        backend,
        "test",
        weights=True,
        cached=True,
        STOPS=stops,
        SHORT=2,
        LONG=8,
        begin=lambda _state, _vertex: np.int64(0),
        visit=lambda *arguments: arguments[-1],
        enough=lambda _value, _found: False,
        done=lambda _state, _vertex: False,
    )
    degrees = np.array([2, 6, 20], np.int32)  # one for a lane, one for a warp, one for blocks
    starts = np.array([0, 8, 16], np.int64)
    edges = np.arange(36, dtype=np.int32)
    untouched = np.full(28, -1, np.int32)
    neighbours, weights = untouched.copy(), untouched.copy()
    slots = np.array([0, 2, 8], np.int64) << 2
    lists = DeviceLists(starts, degrees, edges, edges, slots, neighbours, weights)
    reading = new_reading(backend, np.empty(3, np.int32))
    where = None, reading, lists, np.int64(0)
    backend.launch(walks.walk, *where, np.arange(3, dtype=np.int32), np.array([0, 3]), np.int64(0))
    backend.launch(walks.walk_long, *where)
    read = [
        number for start, degree in zip(starts, degrees, strict=True) for number in edges[start:][:degree]
    ]
    expected = untouched.tolist() if stops else read
    assert neighbours.tolist() == weights.tolist() == expected


@pytest.mark.parametrize("policy", ["published", "adaptive"])
def test_what_a_batch_sends_to_the_device_does_not_grow_with_the_graph(policy: str) -> None:
    sent: dict[int, list[int]] = {}

    class Counting(Simulator):
        def upload(self, array: Any) -> Any:
            sent[vertices][-1] += array.nbytes
            return super().upload(array)

    for vertices in (64, 512):
        sent[vertices] = [0]
        graph = Graph.from_edges([0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 5, 6], vertices=vertices)
        backend = Counting(warp=4, shape=Shape(1, 8))
        with small_device(), patch.object(simulator, "Simulator", lambda backend=backend: backend):
            engine = grapin.Engine(
                graph, BFS(0), device="cudasim", system="bounded", cache=CacheSettings(policy, 400)
            )
            for batch in (Batch(insert=[(1, 6)]), Batch(delete=[(1, 6)]), Batch(insert=[(0, 6)])):
                sent[vertices].append(0)
                engine.apply(batch)
                verify_engine(engine)
    assert sent[64][1:] == sent[512][1:]
    assert sum(sent[64][1:])


def test_a_cache_that_does_not_fit_into_device_memory_says_how_large_it_is() -> None:
    class Full(Simulator):
        def empty(self, count: int, dtype: Any) -> Any:
            if count > 1000:
                raise DeviceUnavailable("4 MiB do not fit into the GPU's memory, of which 1 MiB is free")
            return super().empty(count, dtype)

    with pytest.raises(
        DeviceUnavailable, match=r"no room for a cache of 4 MiB, ask for less: 4 MiB do not fit"
    ):
        CudaCache(Full(warp=4), CacheSettings("adaptive", 4 << 20), ZeroCopy(), arrays=1, weight_dtype=None)


def test_the_command_runs_with_a_cache_on_the_simulated_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    with small_device():
        command = "run rmat:4:2 --batches 2 --batch-size 4 --device cudasim --cache 50% --verify --json -"
        assert main(command.split()) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["device"], record["cache"]["policy"]) == ("cudasim", "adaptive")
