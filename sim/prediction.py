"""`Prediction`: what a trace costs under a system on a machine: by iteration, by phase and in all.

`Iterations` are the steps of a trace that wait for each other: reads of one do not, and the next waits for all of them.
So an iteration is what overlap is decided in, and its sums are all that a closed form needs. `device_seconds` is the
device's own part, a bound: a graph kernel does next to no arithmetic; what it takes is what it reads of the device's
memory. Each edge reads the word of its far end, which lies anywhere: one sector of 32 bytes. Each list reads its
owner's place in the store and its word: two sectors. Elements that the device holds itself are read from there as well.
This, divided by the memory's bandwidth, is what a kernel that balances its work well comes near.

Each iteration pays one launch before anything is read, and that launch is one that is waited for. Our CUDA kernels
launch four or five times in a round, but behind each other, and the host looks after up to 32 rounds only. A trace of
the CPU device may have several times as many rounds as the kernels would take, because one core follows keys in smaller
steps: where launches are most of a prediction, it is too slow rather than too fast.

Within an iteration the link and the device work at the same time, as warps that wait leave room for warps that compute;
an iteration takes as long as the slower of the two. `Costs` are those of a phase, put together from its iterations'.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled
from grapin.counters import REQUEST_SIZES, Counters
from grapin.display import Shown
from grapin.sim.machine import Machine
from grapin.trace import Trace
from grapin.units import ELEMENT, SECTOR, format_bytes, format_seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = NDArray[np.int64]

_COLUMNS = 10


@dataclass(frozen=True, eq=False)
class Iterations:
    """One entry per iteration, in the order in which they happened."""

    phase: Numbers
    begin: Numbers
    """The first row of the trace that belongs to it."""
    end: Numbers
    """The row after its last."""
    edges: Numbers
    lists: Numbers
    elements: Numbers
    """Elements of all arrays: an edge whose weight is read too is two."""
    held_edges: Numbers
    """Of the edges, those in lists that the device has a copy of, weights included where they are read."""
    held_lists: Numbers
    held_elements: Numbers
    pages: Numbers
    """4-KiB pages of host memory, counted once for each list and array that touches them."""

    def __len__(self) -> int:
        return len(self.phase)

    @classmethod
    def of(cls, trace: Trace, held: NDArray[np.uint8] | None = None) -> "Iterations":
        """Add up the iterations of a trace; `held` says how many of a row's arrays the device has a copy of."""
        reads = trace.reads
        table = np.zeros((_COLUMNS, _count(reads["phase"], reads["iteration"])), np.int64)
        phases, iterations = reads["phase"], reads["iteration"]
        starts, lengths, arrays = reads["start"], reads["length"], reads["arrays"]
        copies = np.zeros(0, np.uint8) if held is None else held
        _add_up(phases, iterations, starts, lengths, arrays, copies, table)
        return cls(*table)

    def rows(self) -> Iterator[slice]:
        """Yield which rows of the trace belong to each iteration."""
        for begin, end in zip(self.begin.tolist(), self.end.tolist(), strict=True):
            yield slice(begin, end)

    def by_phase(self, values: NDArray[Any], phases: int) -> NDArray[Any]:
        """Add up what the iterations of each phase have; `values` has a row per iteration."""
        sums = np.zeros((phases, *values.shape[1:]), values.dtype)
        np.add.at(sums, self.phase, values)
        return sums


@compiled
def _count(phases: Any, iterations: Any) -> int:
    count = 0
    for row in range(phases.size):
        if row == 0 or phases[row] != phases[row - 1] or iterations[row] != iterations[row - 1]:
            count += 1
    return count


@compiled
def _add_up(
    phases: Any, iterations: Any, starts: Any, lengths: Any, arrays: Any, held: Any, table: Any
) -> None:
    """Fill a table that has a row for each column of `Iterations`, in their order."""
    place = -1
    for row in range(phases.size):
        if row == 0 or phases[row] != phases[row - 1] or iterations[row] != iterations[row - 1]:
            place += 1
            table[0, place] = phases[row]
            table[1, place] = row
        table[2, place] = row + 1
        length = np.int64(lengths[row])
        if length == 0:
            continue
        asked = np.int64(arrays[row])
        found = np.int64(held[row]) if held.size else np.int64(0)
        table[3, place] += length
        table[4, place] += 1
        table[5, place] += length * asked
        if found == asked:
            table[6, place] += length
            table[7, place] += 1
        table[8, place] += length * found
        table[9, place] += (asked - found) * (((starts[row] + length - 1) >> 10) - (starts[row] >> 10) + 1)


_SECTORS_OF_A_LIST = 2


def device_seconds(
    iterations: Iterations, machine: Machine, *, resident: bool = False
) -> NDArray[np.float64]:
    """Return how long the device's memory is busy in each iteration; `resident` when it holds every list."""
    words = SECTOR * (iterations.edges + _SECTORS_OF_A_LIST * iterations.lists)
    own = ELEMENT * (iterations.elements if resident else iterations.held_elements)
    busy: NDArray[np.float64] = (words + own) / machine.gpu.bandwidth
    return busy


PARTS = ("link", "device", "faults", "host", "launches")
"""Where time goes: reads and copies over the link; the device's own memory; page faults as the driver serves them; the
host's gathering of lists; starting kernels."""
EDGE = 8
"""Bytes that count when an edge is read, a neighbour's id and a weight, as Grapin counts them (Table 2b)."""
THRASHING = 10
"""Bytes moved for each that is read above which unified memory thrashes: graphs that did not fit moved 5.8 to 9 times
what was read (Grapin, Table 2a)."""


@dataclass(frozen=True)
class Seconds:
    """The parts of a time, each as if it were alone, and what of them is hidden behind each other."""

    link: float = 0.0
    device: float = 0.0
    faults: float = 0.0
    host: float = 0.0
    launches: float = 0.0
    hidden: float = 0.0
    """What is saved because parts go on at the same time."""

    @property
    def total(self) -> float:
        """How long it takes."""
        return self.link + self.device + self.faults + self.host + self.launches - self.hidden

    @property
    def dominant(self) -> str:
        """The part that takes most; nothing when all are 0."""
        part = max(PARTS, key=lambda name: float(getattr(self, name)))
        return part if getattr(self, part) > 0 else "nothing"

    def __add__(self, other: "Seconds") -> "Seconds":
        return Seconds(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


@dataclass(frozen=True)
class Costs:
    """What one phase costs, or all of them."""

    counters: Counters = field(default_factory=Counters)
    """Lists read, requests by size, what the cache took and saved, what the copy engine sent."""
    migrated_bytes: int = 0
    """Pages that came to the device by faults and by prefetching."""
    evicted_bytes: int = 0
    """Pages that went back to the host to make room."""
    faults: int = 0
    wire_to_device: int = 0
    """Bytes on the wire towards the device: answers and copies with all headers and framing."""
    wire_to_host: int = 0
    iterations: int = 0
    seconds: Seconds = field(default_factory=Seconds)
    evictions: int = 0
    """Blocks of unified memory that had to make room, written back or not."""

    @property
    def bytes(self) -> int:
        """All payload that crosses the link towards the device."""
        return self.counters.link_bytes + self.migrated_bytes

    @property
    def bytes_by_kind(self) -> dict[str, int]:
        """The same by why it crosses."""
        counters = self.counters
        return {
            "requests": counters.bytes - counters.load_bytes,
            "cache loads": counters.load_bytes,
            "cache patches": counters.patch_bytes,
            "copies": counters.copied_bytes,
            "migrations": self.migrated_bytes,
        }

    @property
    def amplification(self) -> float:
        """Bytes that cross the link for each that is read, an edge counted as 8: a neighbour's id and a weight."""
        return self.bytes / (EDGE * self.counters.edges) if self.counters.edges else 0.0

    @property
    def thrashing(self) -> bool:
        """Whether unified memory moves blocks in and out far more often than it reads them."""
        return self.evictions > 0 and self.amplification > THRASHING

    def __add__(self, other: "Costs") -> "Costs":
        return Costs(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def record(self) -> dict[str, Any]:
        """Return plain numbers, for a JSON file."""
        counters, seconds = self.counters, self.seconds
        return {
            "bytes": self.bytes,
            "bytes_by_kind": self.bytes_by_kind,
            "requests": {str(size): counters.requests[size] for size in REQUEST_SIZES},
            "edges": counters.edges,
            "lists": counters.lists,
            "cached_edges": counters.cached_edges,
            "evicted_bytes": self.evicted_bytes,
            "evictions": self.evictions,
            "amplification": self.amplification,
            "thrashing": self.thrashing,
            "faults": self.faults,
            "wire_to_device": self.wire_to_device,
            "wire_to_host": self.wire_to_host,
            "iterations": self.iterations,
            "seconds": seconds.total,
            "parts": {part: getattr(seconds, part) for part in PARTS} | {"hidden": seconds.hidden},
            "dominant": seconds.dominant,
        }


@dataclass(frozen=True)
class Prediction(Shown):
    """One trace under one system on one machine."""

    system: str
    machine: str
    cache: str
    """The policy and room of the cache, or `none`."""
    rate: float
    """Bytes a second that packets may use in one direction of the link."""
    versions: tuple[int, ...]
    """The version of the graph that each phase computed values for; the first is the start."""
    phases: tuple[Costs, ...]

    @cached_property
    def total(self) -> Costs:
        """What all phases cost."""
        return sum(self.phases, Costs())

    @cached_property
    def start(self) -> Costs:
        """What the first values cost."""
        return self._sum(start=True)

    @cached_property
    def batches(self) -> Costs:
        """What all batches after the start cost."""
        return self._sum(start=False)

    @property
    def seconds(self) -> float:
        """How long all of it takes."""
        return self.total.seconds.total

    @property
    def seconds_a_batch(self) -> float | None:
        """The mean over batches; None when there are none."""
        count = len(set(self.versions)) - 1
        return self.batches.seconds.total / count if count > 0 else None

    @property
    def dominant(self) -> str:
        """The part of the time that takes most."""
        return self.total.seconds.dominant

    @property
    def utilisation(self) -> float:
        """What part of what the link could carry to the device in that time it carries, headers included."""
        return self.total.wire_to_device / (self.rate * self.seconds) if self.seconds else 0.0

    def plot(self) -> "Figure":
        """Draw what each batch's time is made of and the bytes that cross the link, as a matplotlib figure."""
        from grapin.sim.plots import plot_prediction

        return plot_prediction(self)

    def _facts(self) -> dict[str, str]:
        batch = self.seconds_a_batch
        return {
            "system": self.system,
            "machine": self.machine,
            "cache": self.cache,
            "first values": format_seconds(self.start.seconds.total),
            "per batch": "no batches" if batch is None else format_seconds(batch),
            "host-to-device bytes": format_bytes(self.total.bytes),
            "link used": f"{self.utilisation:.0%}",
            "bottleneck": self.dominant + (", thrashing" if self.total.thrashing else ""),
        }

    def record(self) -> dict[str, Any]:
        """Return plain numbers, in all and phase by phase, for a JSON file."""
        return {
            "system": self.system,
            "machine": self.machine,
            "cache": self.cache,
            **self.total.record(),
            "utilisation": self.utilisation,
            "seconds_of_the_start": self.start.seconds.total,
            "seconds_a_batch": self.seconds_a_batch,
            "phases": [
                {"version": version} | costs.record()
                for version, costs in zip(self.versions, self.phases, strict=True)
            ],
        }

    def _sum(self, *, start: bool) -> Costs:
        first = min(self.versions, default=0)
        pairs = zip(self.versions, self.phases, strict=True)
        return sum((costs for version, costs in pairs if (version == first) == start), Costs())


def read_counters(iterations: Iterations, sizes: NDArray[np.int64], phases: int) -> list[Counters]:
    """Return what each phase read, given the requests of one to four sectors that each iteration made."""
    read = np.stack(
        [iterations.edges, iterations.lists, iterations.pages, iterations.held_edges, iterations.held_lists],
        axis=1,
    )
    sums = iterations.by_phase(np.concatenate([read, sizes], axis=1), phases).tolist()
    return [
        replace(Counters.of(edges, lists, requests, pages), cached_edges=held_edges, cached_lists=held_lists)
        for edges, lists, pages, held_edges, held_lists, *requests in sums
    ]


def with_copies(counters: list[Counters], copied: NDArray[np.int64]) -> list[Counters]:
    """Add what the copy engine sent in each phase."""
    return [replace(read, copied_bytes=size) for read, size in zip(counters, copied.tolist(), strict=True)]


def costs_of(
    iterations: Iterations, counters: list[Counters], seconds: list[Seconds], wire: NDArray[np.int64]
) -> list[Costs]:
    """Join the parts of each phase; `wire` has the bytes of each iteration to the device and to the host."""
    sums = iterations.by_phase(np.column_stack([wire, np.ones(len(wire), np.int64)]), len(counters)).tolist()
    return [
        Costs(counters=read, seconds=took, wire_to_device=down, wire_to_host=up, iterations=count)
        for read, took, (down, up, count) in zip(counters, seconds, sums, strict=True)
    ]


Times = NDArray[np.float64]


def in_streams(
    iterations: Iterations,
    machine: Machine,
    phases: int,
    *,
    link: Times,
    device: Times,
    host: Times | None = None,
) -> list[Seconds]:
    """Link, device and host work at the same time: an iteration takes as long as the slowest."""
    gathering = np.zeros(len(iterations)) if host is None else host
    slowest = np.maximum(np.maximum(link, device), gathering)
    return _summed(iterations, machine, phases, link, device, gathering, link + device + gathering - slowest)


def in_turns(
    iterations: Iterations,
    machine: Machine,
    phases: int,
    *,
    link: Times,
    device: Times,
    host: Times,
    ahead: bool,
) -> list[Seconds]:
    """The host gathers, then the link sends, then the device computes; `ahead` while it computes on what it has."""
    hidden = np.minimum(link + host, device) if ahead else np.zeros(len(iterations))
    return _summed(iterations, machine, phases, link, device, host, hidden)


def _summed(
    iterations: Iterations,
    machine: Machine,
    phases: int,
    link: Times,
    device: Times,
    host: Times,
    hidden: Times,
) -> list[Seconds]:
    columns = np.stack([link, device, host, hidden, np.ones(len(iterations))], axis=1)
    return [
        Seconds(link=sent, device=computed, host=gathered, hidden=saved, launches=count * machine.gpu.launch)
        for sent, computed, gathered, saved, count in iterations.by_phase(columns, phases).tolist()
    ]
