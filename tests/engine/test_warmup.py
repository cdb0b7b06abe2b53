"""After the warm-up no batch compiles or loads machine code, whatever kind of batch it is."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import grapin
from grapin import Batch, Engine, Graph
from grapin.engine import warmup
from grapin.engine.warmup import COMPILING, STEPS, warm_up
from grapin.programs.check import check_program

SCRIPT = """
from dataclasses import replace
import numpy as np
from numba.core.dispatcher import Dispatcher
import grapin
from grapin import Batch, Engine
from grapin.engine.warmup import warm_up
from grapin.stream import temporal, workload

found, compile_ = [], Dispatcher.compile

def compile(self, signature):
    found.append(f"{self.py_func.__module__}.{self.py_func.__name__}")
    return compile_(self, signature)

Dispatcher.compile = compile
edges = replace(grapin.generate("rmat:13:12", seed=1, weights=WEIGHTS != "none"), directed=DIRECTED)
if WEIGHTS == "float32":
    edges = replace(edges, weight=edges.weight.astype(np.float32) / 64)
hub = int(np.argmax(np.bincount(edges.source)))
programs = [getattr(grapin, name)(*([hub] if name in ("BFS", "SSSP", "SSWP") else [])) for name in PROGRAMS]
options = dict(system=SYSTEM, device="cpu", threads=THREADS, trace=TRACE, cache=CACHE)
streams = [workload(edges, batches=2, size=size) for size in (1, 1000, 30_000)]
streams += [workload(edges, batches=1, size=60_000, insertions=part) for part in (0.0, 1.0)]
graph = streams[0].graph()
if WARM:
    warm_up(graph, programs, **options)
    assert found
    found.clear()
for stream in streams:
    engine = Engine(stream.graph(), programs, **options)
    if not WARM:
        found.clear()
    for batch in stream:
        engine.apply(batch)
    if not WARM:
        break
events = temporal(replace(edges, time=np.arange(len(edges))), size=20_000, start=1, vertices="all")
if WARM:
    engine = Engine(events.graph(), programs, **options)
    for batch in events:
        engine.apply(batch)
    others = [int(vertex) for vertex in np.argsort(-np.bincount(edges.source))[1:6]]
    engine = Engine(graph, programs, **options)
    for batch in (Batch(delete_vertices=others), Batch(insert_vertices=others), Batch()):
        engine.apply(batch)
    if graph.weight_dtype is not None:
        source, target, weight = graph.edge_arrays()
        kept = slice(None) if DIRECTED else source <= target
        for factor in (2, 0):
            engine.apply(Batch(reweight=(source[kept], target[kept], weight[kept] * weight.dtype.type(factor))))
print("found:", *sorted(set(found)))
"""


def compiled_in_batches(*, warm: bool, **setting: Any) -> list[str]:
    """Run in a process of its own, where nothing is compiled or loaded yet."""
    names = "".join(f"{name.upper()} = {value!r}\n" for name, value in {**setting, "warm": warm}.items())
    run = subprocess.run([sys.executable, "-c", names + SCRIPT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split("found:")[1].split()


SETTINGS = [
    {
        "programs": ["SSSP", "PageRank"],
        "system": "bounded",
        "weights": "int32",
        "directed": True,
        "threads": 2,
    },
    {
        "programs": ["BFS", "ConnectedComponents"],
        "system": "grapin",
        "weights": "none",
        "directed": False,
        "threads": 2,
    },
    {
        "programs": ["SSWP", "SSSP"],
        "system": "bounded",
        "weights": "float32",
        "directed": False,
        "threads": 1,
        "trace": True,
        "cache": "10%",
    },
    {
        "programs": ["ConnectedComponents", "SSSP"],
        "system": "grapin-recomp",
        "weights": "int32",
        "directed": True,
        "threads": 2,
    },
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: f"{one['system']}-{one['weights']}")
def test_nothing_is_compiled_or_loaded_inside_batches(setting: dict[str, Any]) -> None:
    assert compiled_in_batches(warm=True, **{"trace": False, "cache": None, **setting}) == []


def test_without_the_warm_up_something_is() -> None:
    """The test above can fail: this is what it counts where nothing has warmed up."""
    found = compiled_in_batches(warm=False, **{"trace": False, "cache": None, **SETTINGS[0]})
    assert "grapin.graph.lists.commit" in found
    assert any("repair" in name for name in found)


def graph_of(weights: str, *, directed: bool = True) -> Graph:
    weight = None if weights == "none" else np.array([7, 9, 2], weights)
    return Graph.from_edges([0, 1, 2], [1, 2, 3], weight, directed=directed)


@pytest.mark.parametrize("device", ["cpu", "reference", "cudasim"])
def test_the_graph_is_left_as_it_was_and_every_step_is_told(device: str) -> None:
    if device == "cudasim":
        pytest.importorskip("numba_cuda", reason="the simulator needs numba-cuda")
    graph = graph_of("int32")
    told: list[float] = []
    before = [column.tolist() for column in graph.edge_arrays() if column is not None]
    program = grapin.SSSP({2: 5, 3: 1})
    warm_up(graph, program, device=device, advance=told.append)
    assert [column.tolist() for column in graph.edge_arrays() if column is not None] == before
    assert (graph.version, program.sources, sum(told)) == (0, {2: 5, 3: 1}, STEPS)


class Fading(grapin.Monotone):
    """Multiplies by weights of at most 1: with any larger weight it is refused."""

    name = "fading"
    values = "float"
    better = "larger"
    source_value = 1.0

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        """What is left."""
        return value * weight


def test_weights_are_the_graphs_own_so_that_a_rule_which_holds_there_holds_here() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], np.array([0.5, 0.25], np.float32))
    small = warmup._small_graph(graph, 64)
    assert set(small.edge_arrays()[2].tolist()) == {0.5, 0.25}  # type: ignore[union-attr]
    check_program(Fading(0), small)


@pytest.mark.parametrize("weight", [2**31 - 1, 2**30])
def test_a_warm_up_that_fails_is_no_failure_of_the_run(weight: int) -> None:
    """On the small graph weights add up beyond 32 bits; on the graph itself they do not."""
    graph = Graph.from_edges([0], [1], np.array([weight], np.int32))
    warm_up(graph, grapin.SSSP(0), device="cpu")
    assert Engine(graph, grapin.SSSP(0), device="cpu").apply(Batch(delete=[(0, 1)])).deleted == 1


def test_a_device_that_does_not_compile_is_not_made_to_work() -> None:
    assert "reference" not in COMPILING
    assert "cudasim" not in COMPILING
