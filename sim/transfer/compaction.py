"""Subway: the host gathers the active lists of an iteration, the copy engine sends them, the device computes.

Subway: the host gathers the active lists into a small graph, which is then copied (Sabet et al., EuroSys 2020).

The device finds the active vertices and the places of their lists (five steps over all vertices) and sends both to the
host; the host copies the lists together; the result goes to the device. Where most edges are active none of this pays,
and everything is copied partition by partition instead.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.sim.machine import Machine
from grapin.sim.path import copy_to_device, copy_to_host
from grapin.sim.prediction import (
    Costs,
    Iterations,
    costs_of,
    device_seconds,
    in_turns,
    read_counters,
    with_copies,
)
from grapin.system import Compaction, Local, System
from grapin.trace import Trace
from grapin.validation import check_integer

WORD = 4
_PASSES = 8
"""Words a vertex that the five steps of algorithm 3 read and write, whether it is active or not."""


@dataclass(frozen=True)
class SubGraph:
    """What one iteration costs, in bytes, by where they are moved."""

    gathered: bool
    """Whether a subgraph is made at all."""
    to_device: int
    """The subgraph, or all edges."""
    to_host: int
    """Which vertices are active and where their lists go, so that the host can gather them."""
    host_bytes: int
    """What gathering reads and writes in host memory."""
    device_bytes: int
    """What the five steps read and write in device memory."""

    def seconds(self, machine: Machine) -> float:
        """Return a lower bound: the steps wait for each other, and each runs at its memory's or the link's rate."""
        return (
            self.device_bytes / machine.gpu.bandwidth
            + copy_to_host(machine, self.to_host).seconds
            + self.host_bytes / machine.host.bandwidth
            + copy_to_device(machine, self.to_device).seconds
        )


def make_subgraph(
    lengths: NDArray[Any],
    *,
    edges: int,
    vertices: int,
    arrays: int = 1,
    threshold: float = Compaction().threshold,
) -> SubGraph:
    """Return what an iteration that reads lists of these lengths costs, in a graph of so many edges and vertices.

    The published transfer is |E_active| + 2 |V_active| words down and 2 |V_active| up; with weights an edge is two.
    """
    active_edges, active = int(np.sum(lengths)), int(np.count_nonzero(lengths))
    check_integer("edges", edges, least=active_edges)
    check_integer("vertices", vertices, least=active)
    if active_edges > threshold * edges:
        return SubGraph(False, edges * WORD * arrays, 0, 0, 0)
    lists, index = active_edges * WORD * arrays, 2 * active * WORD
    return SubGraph(active > 0, lists + index, index, 2 * lists, _PASSES * vertices * WORD)


def gathering_costs(trace: Trace, system: System, machine: Machine, **_: Any) -> list[Costs]:
    """Return what each phase costs."""
    transfer = system.transfer
    assert isinstance(transfer, Compaction)
    phases = len(trace.phases["version"])
    iterations = Iterations.of(trace)
    subgraphs = _subgraphs(trace, iterations, transfer.threshold)
    down = [copy_to_device(machine, one.to_device) for one in subgraphs]
    up = [copy_to_host(machine, one.to_host) for one in subgraphs]
    pairs = list(zip(down, up, strict=True))
    preparing = np.array([one.device_bytes for one in subgraphs]) / machine.gpu.bandwidth
    seconds = in_turns(
        iterations,
        machine,
        phases,
        link=np.array([one.seconds + other.seconds + machine.link.round_trip for one, other in pairs]),
        device=device_seconds(iterations, machine, resident=True) + preparing,
        host=np.array([one.host_bytes for one in subgraphs]) / machine.host.bandwidth,
        ahead=isinstance(system.schedule, Local),
    )
    copied = iterations.by_phase(np.array([one.to_device for one in subgraphs], np.int64), phases)
    counters = read_counters(iterations, np.zeros((len(iterations), 4), np.int64), phases)
    wire = [(one.down_bytes + other.down_bytes, one.up_bytes + other.up_bytes) for one, other in pairs]
    return costs_of(
        iterations, with_copies(counters, copied), seconds, np.array(wire, np.int64).reshape(-1, 2)
    )


def _subgraphs(trace: Trace, iterations: Iterations, threshold: float) -> list[SubGraph]:
    edges, vertices = trace.phases["edges"][iterations.phase], trace.phases["vertices"][iterations.phase]
    # An iteration that reads in-lists as well may read more than the edges of one direction.
    edges = np.maximum(edges, iterations.edges).tolist()
    vertices = np.maximum(vertices, iterations.lists).tolist()
    return [
        make_subgraph(
            trace.reads["length"][rows],
            edges=edges[place],
            vertices=vertices[place],
            arrays=int(trace.reads["arrays"][rows].max(initial=1)),
            threshold=threshold,
        )
        for place, rows in enumerate(iterations.rows())
    ]
