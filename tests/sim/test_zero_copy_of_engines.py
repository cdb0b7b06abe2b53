"""What engines really read: the model's levels agree on it, and with what the engine itself counted."""

from pathlib import Path as FilePath

import numpy as np
import pytest

from grapin.counters import Counters
from grapin.edges import EdgeList
from grapin.engine import Engine
from grapin.files import load_edges
from grapin.generators import generate
from grapin.programs import BFS
from grapin.sim import MACHINES
from grapin.sim.oracle.zero_copy import replay_events
from grapin.sim.path import Path
from grapin.sim.transfer.zero_copy import ANY_LENGTH, replay_zero_copy
from grapin.stream import workload
from grapin.trace import Trace

PATH = Path(MACHINES["a5000"])


def run(edges: EdgeList, system: str) -> tuple[Trace, list[Counters]]:
    """Let an engine follow three batches; return what it read and what it counted of each batch."""
    stream = workload(edges, batches=3, size=max(1, len(edges) // 1000), seed=1)
    graph = stream.graph()
    source = int(np.argmax(graph.snapshot().out.degrees))
    engine = Engine(graph, BFS(source), system=system, trace=True, threads=1)
    counted = [engine.apply(batch).counters for batch in stream]
    return engine.trace, counted


def repairs(trace: Trace) -> Trace:
    """Leave the first answer out."""
    rows = trace.reads["phase"] > 0
    return Trace(
        {name: column[rows] for name, column in trace.reads.items()}, trace.phases, trace.changes, trace.about
    )


def assert_levels_agree(trace: Trace) -> None:
    for alone in (2048, ANY_LENGTH):
        fast = replay_zero_copy(trace, PATH, alone=alone)
        events = replay_events(trace, PATH, alone=alone)
        np.testing.assert_array_equal(fast.ticks, events.ticks)
        np.testing.assert_array_equal(fast.kinds, events.kinds)
        assert fast.requests == trace.counters().requests


@pytest.mark.parametrize("system", ["bounded", "grapin-zc"])
def test_the_levels_agree_on_what_an_engine_read_and_counted(system: str) -> None:
    trace, counted = run(generate("rmat:9:16"), system)
    assert_levels_agree(trace)
    replayed = replay_zero_copy(trace, PATH)
    for phase, counters in enumerate(counted, 1):
        sizes = replayed.sizes[replayed.phase == phase].sum(axis=0)
        assert sizes.tolist() == list(counters.requests.values())


def test_the_levels_agree_on_repairs_of_a_real_graph(shared_data: FilePath) -> None:
    assert_levels_agree(repairs(run(load_edges(shared_data / "soc-Epinions1.txt.gz"), "bounded")[0]))


@pytest.mark.deep
def test_the_levels_agree_on_the_first_answer_of_a_real_graph(shared_data: FilePath) -> None:
    assert_levels_agree(run(load_edges(shared_data / "soc-Epinions1.txt.gz"), "bounded")[0])
