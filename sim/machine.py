"""`Machine`: a link, a GPU and a host as numbers, each with its source; what predictions are made for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from grapin.sim.figures import Figure, Part, figure
from grapin.sim.links import Link
from grapin.validation import check_choice, refuse


@dataclass(frozen=True, kw_only=True)
class Gpu(Part):
    """A GPU: how much it holds, how fast it reads that, and how many warps can wait for something."""

    name: str
    memory: int = figure("bytes")
    bandwidth: float = figure("bytes/s")
    multiprocessors: int = figure()
    warps_per_multiprocessor: int = figure()
    launch: float = figure("seconds")
    """What it costs to start a kernel and to wait for its end, the kernel itself aside."""

    role: ClassVar[str] = "gpu"

    @property
    def warps(self) -> int:
        """How many warps can be resident at a time."""
        return self.multiprocessors * self.warps_per_multiprocessor


@dataclass(frozen=True, kw_only=True)
class Host(Part):
    """A host's memory, as a GPU's requests meet it."""

    name: str
    bandwidth: float = figure("bytes/s")
    access: int = figure("bytes")
    """The least that memory reads at a time: a smaller request costs as much."""
    latency: float = figure("seconds")
    """What of the link's round trip is spent in memory."""
    fault_batch: float = figure("seconds", 31.6e-6)
    """What the driver needs for a batch of page faults beside the blocks in it: interrupt, fetching and sorting faults,
    flush and replay."""

    role: ClassVar[str] = "host"


@dataclass(frozen=True)
class Machine:
    """One machine; a variant is `machine.with_settings({"link.generation": 5})`."""

    name: str
    link: Link
    gpu: Gpu
    host: Host

    @property
    def parts(self) -> Mapping[str, Part]:
        """The parts by role."""
        return {part.role: part for part in (self.link, self.gpu, self.host)}

    def figures(self) -> Iterator[Figure]:
        """Yield every number with its unit and its source."""
        for part in self.parts.values():
            yield from part.figures()

    def unsourced(self) -> list[Figure]:
        """Return the numbers that nobody published or measured."""
        return [one for one in self.figures() if not one.sourced]

    def with_settings(self, settings: Mapping[str, object], *, source: str = "set by the user") -> "Machine":
        """Return this machine with numbers changed, by dotted names; texts are read in the number's unit.

        All else follows from them: with `{"link.generation": 5}` the link's rate is that of PCIe 5.0.
        """
        changes: dict[str, dict[str, object]] = {}
        for name, value in settings.items():
            role, dot, own = name.partition(".")
            if not dot:
                refuse(
                    "setting", name, "name a part and a number of it, such as link.generation or gpu.memory"
                )
            changes.setdefault(check_choice("part", role, self.parts), {})[own] = value
        parts: dict[str, Any] = {
            role: self.parts[role].with_settings(own, source) for role, own in changes.items()
        }
        name = "+".join([self.name, *(f"{name}={value}" for name, value in settings.items())])
        return replace(self, name=name, **parts)

    def save(self, path: str | Path) -> None:
        """Write the machine as TOML, numbers and sources; `find_machine(path)` reads it again."""
        from grapin.sim.machine_file import save_machine

        save_machine(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> "Machine":
        """Read a machine that was saved or written by hand."""
        from grapin.sim.machine_file import load_machine

        return load_machine(Path(path))

    @classmethod
    def from_this_computer(cls, index: int = 0) -> "Machine":
        """Return the machine this is: its GPU number `index`, that GPU's link, its host.

        What the driver and the kernel do not tell (round trip, bandwidth of host memory) has no source until it is
        measured and set.
        """
        from grapin.sim.this_computer import read_computer

        return read_computer(index)
