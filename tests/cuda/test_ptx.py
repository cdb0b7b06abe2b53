"""Executed from its PTX, every kernel does what it does in the simulator: answers equal the reference's."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cache_checking import check_mending, check_moves
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numba import cuda
from ptxsim_backend import Ptx, missing
from ptxsim_device import BACKEND

import grapin
from grapin.cache import CacheSettings
from grapin.device import DEVICES
from grapin.engine.selftest import PROGRAMS, selftest
from grapin.engine.verify import verify_answer, verify_engine
from grapin.kernels.cuda.backend import Shape
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
QUANTA = [0, 1, 8, 64]
"""How many accesses a warp makes before another may run; 0 lets it run until it has to wait."""


@pytest.fixture(autouse=True)
def _listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(DEVICES, "ptxsim", "ptxsim_device")
    yield
    BACKEND.shape = Shape(2, 64)


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
    BACKEND.shape = data.draw(st.sampled_from(SHAPES), label="shape")
    BACKEND.quantum = data.draw(st.sampled_from(QUANTA), label="quantum")
    BACKEND.seed = data.draw(st.integers(1, 2**31), label="seed")
    engine = grapin.Engine(graph, made_for(PROGRAMS[name], graph), system=system, device="ptxsim")
    verify_answer(engine.answers[0], graph)
    for batch in mutations.batches:
        engine.apply(batch)
        verify_answer(engine.answers[0], graph)


@pytest.mark.parametrize("system", ["bounded", "grapin-recomp"])
def test_a_list_that_the_last_lane_of_a_warp_looks_up_is_read_once(system: str) -> None:
    BACKEND.shape, BACKEND.quantum, BACKEND.seed = Shape(1, 32), 0, 1
    sources = np.repeat(np.arange(32), 20)  # lists alike, so that all are pushed at once, each by its lane
    graph = grapin.Graph.from_edges(sources, np.tile(np.arange(20), 32))
    engine = grapin.Engine(graph, PROGRAMS["pagerank"], system=system, device="ptxsim")
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
    BACKEND.shape = data.draw(st.sampled_from(SHAPES), label="shape")
    BACKEND.quantum = data.draw(st.sampled_from(QUANTA), label="quantum")
    BACKEND.seed = data.draw(st.integers(1, 2**31), label="seed")
    room = CacheSettings(
        SYSTEMS[system].cache, data.draw(st.integers(40, 600), label="capacity"), chunk=160, window=2
    )
    program = made_for(PROGRAMS[name], graph)
    engine = grapin.Engine(graph, program, system=system, device="ptxsim", cache=room)
    verify_engine(engine)
    for batch in mutations.batches:
        engine.apply(batch)
        verify_engine(engine)


@given(data=st.data())
@settings(max_examples=1000 if DEEP else 10)
def test_compiled_kernels_move_and_mend_copies_as_the_cpu_does(data: st.DataObject) -> None:
    BACKEND.shape = data.draw(st.sampled_from(SHAPES), label="shape")
    BACKEND.quantum = data.draw(st.sampled_from(QUANTA), label="quantum")
    check_moves(BACKEND, data)
    check_mending(BACKEND, data)


@pytest.mark.deep
def test_lists_longer_than_a_warp_reads_alone_are_read_right() -> None:
    wrong = [
        f"{trial.program} under {trial.system}: {trial.wrong}"
        for trial in selftest("ptxsim", scale=12, systems=("bounded", "grapin-zc"), kinds=("directed",))
        if trial.wrong
    ]
    assert wrong == []


def beyond(array: Any) -> None:
    """Write one element for each thread, of an array that has fewer."""
    array[cuda.grid(1)] = 1


def test_the_interpreter_notices_an_access_out_of_bounds() -> None:
    backend = Ptx()
    kernel = backend.kernel(beyond, "test")
    with pytest.raises(RuntimeError, match="memory fault"):
        backend.launch(kernel, backend.full(32, 0, "int32"))
