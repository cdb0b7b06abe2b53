"""Subway: the host gathers the active lists into a small graph, which is then copied (Sabet et al., EuroSys 2020).

The device finds the active vertices and the places of their lists (five steps over all vertices) and sends both to the
host; the host copies the lists together; the result goes to the device. Where most edges are active none of this pays,
and everything is copied partition by partition instead.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.sim.closed_form import copy_to_device, copy_to_host
from grapin.sim.machine import Machine
from grapin.validation import check_integer

THRESHOLD = 0.8
"""Share of active edges beyond which nothing is gathered (section 3.1; 3.3 and 4.4 say it the wrong way round)."""
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
    lengths: NDArray[Any], *, edges: int, vertices: int, arrays: int = 1, threshold: float = THRESHOLD
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
