"""`Prediction`: what a trace costs under a system on a machine; bytes, requests and time, phase by phase and in all."""

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from grapin.counters import REQUEST_SIZES, Counters

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
class Prediction:
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
