"""Subway: the host gathers the active lists of an iteration, the copy engine sends them, the device computes."""

from typing import Any

import numpy as np

from grapin.sim.closed_form import copy_to_device, copy_to_host
from grapin.sim.compute import device_seconds
from grapin.sim.formulas.subway import SubGraph, make_subgraph
from grapin.sim.iterations import Iterations
from grapin.sim.machine import Machine
from grapin.sim.prediction import Costs
from grapin.sim.systems import ModelSystem
from grapin.sim.transfer.assembling import costs_of, read_counters, with_copies
from grapin.sim.transfer.overlap import in_turns
from grapin.trace import Trace


def gathering_costs(trace: Trace, system: ModelSystem, machine: Machine, **_: Any) -> list[Costs]:
    """Return what each phase costs."""
    phases = len(trace.phases["version"])
    iterations = Iterations.of(trace)
    subgraphs = _subgraphs(trace, iterations)
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
        ahead=system.transfer == "compaction-ahead",
    )
    copied = iterations.by_phase(np.array([one.to_device for one in subgraphs], np.int64), phases)
    counters = read_counters(iterations, np.zeros((len(iterations), 4), np.int64), phases)
    wire = [(one.down_bytes + other.down_bytes, one.up_bytes + other.up_bytes) for one, other in pairs]
    return costs_of(
        iterations, with_copies(counters, copied), seconds, np.array(wire, np.int64).reshape(-1, 2)
    )


def _subgraphs(trace: Trace, iterations: Iterations) -> list[SubGraph]:
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
        )
        for place, rows in enumerate(iterations.rows())
    ]
