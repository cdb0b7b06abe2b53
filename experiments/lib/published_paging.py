"""The model's answers to published figures of unified memory: searches on graphs too large for the GPU, and streaming.

The graphs of the papers are a hundred times too large to be run here. An R-MAT graph stands in, on a GPU whose memory
is smaller in proportion, so that the ratio of graph to memory is the published one. Pages and blocks keep their size.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.request_sizes import KRONECKER, NARROW, WIDE, Search
from grapin.loading import load
from grapin.sim import MACHINES, copy_to_device, read_requests
from grapin.sim.machine import Machine
from grapin.sim.paging import UnifiedVolumes
from grapin.sim.transfer.unified import replay_unified
from grapin.trace import Trace

EDGES = {"GK": 4.22e9, "FS": 3.61e9, "ML": 6.67e9, "SK": 1.95e9}
"""Stored edges: GAP-kron and MOLIERE_2016 by the SuiteSparse Matrix Collection, the others by Subway, table 2."""
EMOGI_ADVICE = "read-mostly"  # EMOGI's programs have UVM_READONLY for their comparison with unified memory
STREAMED = 2**26
SMALL = "rmat:15:16"
"""For a quick run; the GPU must still have room for a block of 2 MiB."""


@dataclass(frozen=True, eq=False)
class Paged:
    """A breadth-first search through unified memory."""

    trace: Trace
    size: int
    """Bytes of the graph's edges."""

    @classmethod
    def of(cls, search: Search, iterations: NDArray[np.int64], element: int) -> "Paged":
        """Lay the lists of a search out as managed memory: elements of several words are several elements of one."""
        words = element // 4
        slots = int((search.starts + search.lengths).max()) * words
        return cls(reading(search.starts * words, search.lengths * words, iterations, slots), 4 * slots)

    def run(self, machine: Machine, ratio: float, advice: str) -> UnifiedVolumes:
        """Search a graph that is `ratio` times as large as the GPU's memory."""
        return replay_unified(self.trace, machine, advice=advice, memory=int(self.size / ratio)).total


def answers(*, quick: bool) -> dict[str, float]:
    """Return a prediction for every row of unified memory that a search or a stream can answer."""
    graph = load(SMALL if quick else KRONECKER, directed=False, weights="none")
    search = Search.of(graph)
    iterations = search.warps // graph.bound
    wide, narrow = (Paged.of(search, iterations, element) for element in (WIDE, NARROW))
    return {**streaming(quick=quick), **_emogi(search, wide), **_subway(narrow)}


def streaming(*, quick: bool) -> dict[str, float]:
    """Read one array from beginning to end, 128 bytes per warp, as EMOGI's example does."""
    starts = np.arange(0, STREAMED // 16 if quick else STREAMED, 32)
    lengths = np.full(len(starts), 32)
    volumes = replay_unified(reading(starts, lengths, lengths * 0, 32 * len(starts)), MACHINES["v100"]).total
    return {"Z5": volumes.bytes_in / volumes.seconds / 1e9}


def reading(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], iterations: NDArray[np.int64], slots: int
) -> Trace:
    """Return a trace of one phase that reads these lists of an array of `slots` elements."""
    rows, one, none = len(starts), np.zeros(1, np.int64), np.zeros(0, np.int64)
    reads = {
        "phase": np.zeros(rows, np.int32),
        "iteration": iterations.astype(np.int32),
        "vertex": np.arange(rows, dtype=np.int32),
        "inward": np.zeros(rows, np.bool_),
        "start": starts,
        "length": lengths.astype(np.int32),
        "arrays": np.ones(rows, np.uint8),
        "whole": np.ones(rows, np.bool_),
        "cached": np.zeros(rows, np.bool_),
    }
    sizes = {"vertices": rows, "edges": slots, "out_slots": slots, "in_slots": 0, "version": 0, "program": 0}
    changes = dict.fromkeys(("version", "vertex", "inward", "start", "length", "mutations"), none)
    return Trace(reads, {name: one + size for name, size in sizes.items()}, changes, {"system": "static"})


def _emogi(search: Search, paged: Paged) -> dict[str, float]:
    v100, a100 = MACHINES["v100"], MACHINES["a100"]
    ratios = {name: edges * WIDE / v100.gpu.memory for name, edges in EDGES.items()}
    by_pages = paged.run(v100, ratios["GK"], EMOGI_ADVICE).seconds
    by_requests = (search.naive(WIDE, kept=True), search.merged(WIDE), search.aligned(WIDE))
    naive, merged, aligned = (by_pages / read_requests(v100, one.requests).seconds for one in by_requests)
    older = a100.with_settings({"link.generation": 3})
    times = [paged.run(machine, ratios["GK"], EMOGI_ADVICE).seconds for machine in (older, a100)]
    moved = {
        name: paged.run(v100, ratios[name], EMOGI_ADVICE).bytes_in / paged.size for name in ("FS", "ML", "SK")
    }
    return {
        "Z13a": naive,
        "Z13b": merged,
        "Z13c": aligned,
        "Z14a": moved["FS"],
        "Z14b": moved["ML"],
        "Z14c": moved["SK"],
        "Z15b": times[0] / times[1],
    }


def _subway(paged: Paged) -> dict[str, float]:
    machine = MACHINES["titan-xp"]
    ratio = EDGES["FS"] * NARROW / machine.gpu.memory
    plain, advised = (paged.run(machine, ratio, advice) for advice in ("none", "read-mostly"))
    copied = copy_to_device(machine, advised.bytes_in).seconds
    return {
        "S1": 100 * (1 - copied / advised.seconds),
        "S2a": 100 * (1 - advised.bytes_in / (plain.bytes_in + plain.bytes_out)),
        "S2b": 100 * (1 - advised.seconds / plain.seconds),
    }
