"""On the virtual GPU every kernel does what the reference does: as compiled, under many schedules and weak memory."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cache_checking import check_mending, check_moves
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numba import cuda

import grapin
from grapin.cache import CacheSettings
from grapin.engine.selftest import PROGRAMS, selftest
from grapin.engine.verify import verify_answer, verify_engine
from grapin.kernels.cuda.assembly import missing
from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.vgpu.backend import VirtualBackend
from grapin.kernels.cuda.vgpu.device import backend
from grapin.kernels.cuda.vgpu.gpu import SCHEDULES, KernelFault, Options
from grapin.programs import Program
from grapin.system import RUNNABLE, SYSTEMS
from grapin.testing import MutationStream, mutation_streams

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")

DEEP = os.environ.get("GRAPIN_PROFILE") == "deep"
# Each kind of graph has kernels of its own to compile; a deep run tries them all.
WEIGHTS = ["int32", "float32", "none"] if DEEP else ["int32"]
DIRECTED = [True, False] if DEEP else [True]
# Systems that repair alike execute the same kernels: what else they differ in happens on the host.
ONE_A_REPAIR = {SYSTEMS[name].repair: name for name in reversed(RUNNABLE)}
TRIED = list(RUNNABLE) if DEEP else list(ONE_A_REPAIR.values())
SHAPES = [Shape(1, 32), Shape(2, 64), Shape(3, 128)]
MOST_STEPS = 20_000_000
"""A launch of a test that takes so many steps will never end."""
BACKEND = backend()
options = st.builds(
    Options,
    schedule=st.sampled_from(list(SCHEDULES)),
    seed=st.integers(0, 2**31),
    quantum=st.sampled_from([1, 8, 64]),
    weak=st.booleans(),
    most_steps=st.just(MOST_STEPS),
)
"""How launches are executed: who runs when, how long, and what memory promises."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = BACKEND.shape, BACKEND.gpu.options
    yield
    BACKEND.shape, BACKEND.gpu.options = before


def choose(data: st.DataObject) -> None:
    """Draw a shape of launches and how they are executed."""
    BACKEND.shape = data.draw(st.sampled_from(SHAPES), label="shape")
    BACKEND.gpu.options = data.draw(options, label="options")


def made_for(program: Program, graph: grapin.Graph) -> Program:
    """Return the program with sources that the graph has."""
    if program.name not in ("bfs", "sssp", "sswp"):
        return program
    alive = [vertex for vertex in range(graph.bound) if graph.has_vertex(vertex)]
    return type(program)(alive[:2])  # type: ignore[call-arg]  # programs with sources take them


@pytest.mark.parametrize("system", TRIED)
# The last first: another process may be compiling kernels of the first programs for test_kernels.py.
@pytest.mark.parametrize("name", list(PROGRAMS)[::-1])
@given(data=st.data())
@settings(max_examples=1000 if DEEP else 8)
def test_after_any_stream_compiled_kernels_give_the_reference_answer(
    system: str, name: str, data: st.DataObject
) -> None:
    weights = data.draw(st.sampled_from(WEIGHTS), label="weights")
    directed = data.draw(st.sampled_from(DIRECTED), label="directed")
    streams = mutation_streams(weights=weights, directed=directed)
    mutations: MutationStream = data.draw(streams, label="mutations")
    graph = grapin.Graph.from_edges(**mutations.start)
    assume(graph.vertices)
    choose(data)
    engine = grapin.Engine(graph, made_for(PROGRAMS[name], graph), system=system, device="vgpu")
    verify_answer(engine.answers[0], graph)
    for batch in mutations.batches:
        engine.apply(batch)
        verify_answer(engine.answers[0], graph)


@pytest.mark.parametrize("system", ["bounded", "grapin-recomp"])
def test_a_list_that_the_last_lane_of_a_warp_looks_up_is_read_once(system: str) -> None:
    BACKEND.shape = Shape(1, 32)
    BACKEND.gpu.set(quantum=1 << 20)
    sources = np.repeat(np.arange(32), 20)  # lists alike, so that all are pushed at once, each by its lane
    graph = grapin.Graph.from_edges(sources, np.tile(np.arange(20), 32))
    engine = grapin.Engine(graph, PROGRAMS["pagerank"], system=system, device="vgpu")
    verify_answer(engine.answers[0], graph)


@pytest.mark.parametrize("system", ["bounded", "grapin"])
@pytest.mark.parametrize("name", PROGRAMS if DEEP else ["sssp", "pagerank"])
@given(data=st.data())
@settings(max_examples=200 if DEEP else 6)
def test_compiled_kernels_read_and_keep_copies_in_a_cache(
    system: str, name: str, data: st.DataObject
) -> None:
    mutations: MutationStream = data.draw(mutation_streams(weights="int32", directed=True), label="mutations")
    graph = grapin.Graph.from_edges(**mutations.start)
    assume(graph.vertices)
    choose(data)
    room = CacheSettings(
        SYSTEMS[system].cache, data.draw(st.integers(40, 600), label="capacity"), chunk=160, window=2
    )
    program = made_for(PROGRAMS[name], graph)
    engine = grapin.Engine(graph, program, system=system, device="vgpu", cache=room)
    verify_engine(engine)
    for batch in mutations.batches:
        engine.apply(batch)
        verify_engine(engine)


@given(data=st.data())
@settings(max_examples=1000 if DEEP else 10)
def test_compiled_kernels_move_and_mend_copies_as_the_cpu_does(data: st.DataObject) -> None:
    choose(data)
    check_moves(BACKEND, data)
    check_mending(BACKEND, data)


@pytest.mark.deep
def test_lists_longer_than_a_warp_reads_alone_are_read_right() -> None:
    wrong = [
        f"{trial.program} under {trial.system}: {trial.wrong}"
        for trial in selftest("vgpu", scale=12, systems=("bounded", "grapin-zc"), kinds=("directed",))
        if trial.wrong
    ]
    assert wrong == []


def beyond(array: Any) -> None:
    """Write one element for each thread, of an array that has fewer."""
    array[cuda.grid(1)] = 1


def test_a_kernel_that_leaves_its_array_is_stopped_at_its_line() -> None:
    mine = VirtualBackend(shape=Shape(2, 64))
    kernel = mine.kernel(beyond, "test")
    with pytest.raises(
        KernelFault, match=r"kernel beyond_test, PTX line \d+, thread 32 of block 0: writes 4 bytes"
    ):
        mine.launch(kernel, mine.full(32, 0, "int32"))
