"""`Machine`: a link, a GPU and a host as numbers with their sources; by name, from a file, or as settings.

`Link`: how many bytes a second it carries, and what a packet costs on it. A GPU reads host memory by requests; each is
a packet up to the host. The answer comes down as one or more completions, each with a header of its own. A tag names a
request until it is answered, so the number of tags bounds how many wait.

Machines are TOML files that people read and write. Those with names of their own are all in `machines.toml`. A file has
all numbers of a machine, or says from which of these it takes those that it does not name:

name = "ours"
base = "a5000"

[gpu]
name = "RTX A5000, 48 GB"
memory = "48G"
source = "nvidia-smi"

`source` is that of all numbers of its table; those in a table `[gpu.sources]` have one of their own.
"""

import json
import tomllib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from grapin.errors import GrapinError, InvalidFile
from grapin.figures import Figure, Part, figure, units_of
from grapin.validation import check_choice, refuse

TRANSFERS = {3: 8e9, 4: 16e9, 5: 32e9, 6: 64e9}
"""Bits a second on one lane (PCIe Base Specification 6.0)."""
ENCODING = {3: 128 / 130, 4: 128 / 130, 5: 128 / 130, 6: 242 / 256}
"""What of them is not spent on line coding; in 6.0 on the check bytes of a flit (same)."""
LANES = (1, 2, 4, 8, 16)
PAYLOADS = (128, 256, 512)
TAGS = {5: 32, 8: 256, 10: 768}
"""Requests that may wait, by the bits of a tag; of ten bits the upper two are never both zero (same, 2.2.6.2)."""

_ACK_FACTORS = {16: (3.0, 3.0, 2.0), 8: (2.5, 2.5, 1.0)}
"""How many packets one acknowledgement answers, by payload; on fewer lanes 1.4, 1.4, 1.0 (5.0, tables 3-7 to 3-9)."""
_TLP_OVERHEAD = 28  # the specification's formula for those tables: packet bytes around the payload
_INTERNAL_DELAY = 115  # symbol times from 8 GT/s on, same formula
_CONTROL_PACKET = 8  # an acknowledgement or a credit update: 2 bytes framing, 4 content, 2 CRC (same)
_SKIP = 4 / 1538  # ordered sets for clock compensation (same)


@dataclass(frozen=True, kw_only=True)
class Link(Part):
    """What every link has; the unit of all sizes is bytes, of all rates bytes a second in one direction."""

    payload: int = figure("bytes")
    """The most data one packet carries."""
    completion_boundary: int = figure("bytes")
    """An answer may only be cut at multiples of this."""
    read_request: int = figure("bytes")
    """The most the copy engine asks for in one request."""
    round_trip: float = figure("seconds")
    """From a request's leaving the GPU to its data's arrival on an idle link, host memory included."""
    efficiency: float = figure("share", 1.0)
    """What of the rate that the link's rules allow is reached."""

    role: ClassVar[str] = "link"
    framing: ClassVar[int]
    """What of a packet the GPU's own counters leave out."""
    request_bytes: ClassVar[int]
    """What a read request takes on the wire."""
    completion_bytes: ClassVar[int]
    """What a completion takes beside its data."""
    write_bytes: ClassVar[int]
    """What a write takes beside its data."""

    @property
    @abstractmethod
    def rate(self) -> float:
        """What packets may use in one direction, headers included."""

    @property
    @abstractmethod
    def tags(self) -> int:
        """How many requests may wait for their answers at a time."""

    def completions(self, size: int, address: int = 0) -> int:
        """Return in how many packets the answer to a read of `size` bytes comes back.

        The host sends as much as it may: the first packet ends at the last boundary within a payload, the others carry
        a whole payload each.
        """
        first_end = (address + self.payload) // self.completion_boundary * self.completion_boundary
        return 1 + max(0, -(-(address + size - first_end) // self.payload))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.payload % self.completion_boundary:
            refuse(
                "link.payload",
                self.payload,
                f"be a multiple of completion_boundary={self.completion_boundary}",
            )


@dataclass(frozen=True, kw_only=True)
class PcieLink(Link):
    """PCI Express. Each packet has 8 bytes of framing, sequence number and LCRC around header and data."""

    generation: int = figure()
    lanes: int = figure()
    tag_bits: int = figure()

    framing: ClassVar[int] = 8
    request_bytes: ClassVar[int] = 16 + framing  # with a 64-bit address (PCIe Base Specification, 2.2.4.1)
    write_bytes: ClassVar[int] = 16 + framing
    completion_bytes: ClassVar[int] = 12 + framing  # same, 2.2.9

    def __post_init__(self) -> None:
        for name, choices in (
            ("generation", tuple(TRANSFERS)),
            ("lanes", LANES),
            ("payload", PAYLOADS),
            ("completion_boundary", (64, 128)),
            ("tag_bits", tuple(TAGS)),
        ):
            if getattr(self, name) not in choices:
                refuse(f"link.{name}", getattr(self, name), f"be one of {', '.join(map(str, choices))}")
        super().__post_init__()

    @property
    def raw_rate(self) -> float:
        """What the lanes carry after line coding."""
        return TRANSFERS[self.generation] * ENCODING[self.generation] * self.lanes / 8

    @property
    def control_share(self) -> float:
        """What of it goes to acknowledgements, credit updates and clock compensation.

        One acknowledgement and one credit update are allowed for in each interval within which the specification wants
        them, a byte a symbol time, as Neugebauer et al. count it (SIGCOMM 2018, and their pcie-model). Counted by lane
        it would be less; measured rates side with this. PCIe 6.0 has no published figure and is counted like 5.0.
        """
        factor = _ACK_FACTORS.get(self.lanes, (1.4, 1.4, 1.0))[PAYLOADS.index(self.payload)]
        interval = int((self.payload + _TLP_OVERHEAD) * factor / self.lanes + _INTERNAL_DELAY)
        return 2 * _CONTROL_PACKET / interval + _SKIP

    @property
    def rate(self) -> float:
        """What is left for packets."""
        return self.raw_rate * (1 - self.control_share) * self.efficiency

    @property
    def tags(self) -> int:
        """How many requests may wait for their answers at a time."""
        return TAGS[self.tag_bits]


@dataclass(frozen=True, kw_only=True)
class ChipLink(Link):
    """NVLink-C2C, the link between the two halves of a Grace Hopper or Grace Blackwell module.

    Its packets are not published; they are taken to be NVLink's, whose headers are one flit of 16 bytes (Foley and
    Danskin, IEEE Micro 37(2), 2017).
    """

    nominal_rate: float = figure("bytes/s")
    """In one direction, as the vendor states it."""
    requests_in_flight: int = figure()

    framing: ClassVar[int] = 0
    request_bytes: ClassVar[int] = 16
    write_bytes: ClassVar[int] = 16
    completion_bytes: ClassVar[int] = 16

    @property
    def rate(self) -> float:
        """The nominal rate: what control packets take is not published."""
        return self.nominal_rate * self.efficiency

    @property
    def tags(self) -> int:
        """How many requests may wait for their answers at a time."""
        return self.requests_in_flight


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
        save_machine(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> "Machine":
        """Read a machine that was saved or written by hand."""
        return load_machine(Path(path))

    @classmethod
    def from_this_computer(cls, index: int = 0) -> "Machine":
        """Return the machine this is: its GPU number `index`, that GPU's link, its host.

        What the driver and the kernel do not tell (round trip, bandwidth of host memory) has no source until it is
        measured and set.
        """
        from grapin.sim.probe import read_computer

        return read_computer(index)


PartKind = TypeVar("PartKind", bound=Part)

LINKS: dict[str, type[Link]] = {"pcie": PcieLink, "nvlink-c2c": ChipLink}


def save_machine(machine: Machine, path: Path) -> None:
    """Write one table for each part, and one for its sources."""
    kind = next(name for name, link in LINKS.items() if type(machine.link) is link)
    heads = {
        "link": {"kind": kind},
        "gpu": {"name": machine.gpu.name},
        "host": {"name": machine.host.name},
    }
    lines = [f"name = {_quoted(machine.name)}"]
    for role, part in machine.parts.items():
        lines += ["", f"[{role}]", *(f"{name} = {_quoted(text)}" for name, text in heads[role].items())]
        lines += [f"{one.name.partition('.')[2]} = {one.value!r}" for one in part.figures()]
        lines += ["", f"[{role}.sources]"]
        lines += [f"{name} = {_quoted(source)}" for name, source in part.sources.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def load_machine(path: Path) -> Machine:
    """Read such a file; whatever is missing, unknown or impossible is named."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidFile(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidFile(f"{path}: is not a machine written as TOML ({error})") from None
    try:
        return _machine(content, MACHINES)
    except GrapinError as error:
        raise InvalidFile(f"{path}: {error}") from None


def _machine(content: dict[str, Any], known: Mapping[str, Machine]) -> Machine:
    name = content.get("name")
    if not isinstance(name, str):
        refuse("name", name, "be a text: what the machine is called")
    if "base" in content:
        return replace(_based(content, known), name=name)
    tables = {role: content.get(role) for role in ("link", "gpu", "host")}
    for role, table in tables.items():
        if not isinstance(table, dict):
            refuse(
                role,
                table,
                f"be a table [{role}] with all figures of the {role}; or let base = "
                "name a preset that has the rest",
            )
    link, gpu, host = (dict(table or {}) for table in tables.values())
    kind = LINKS[check_choice("link.kind", str(link.pop("kind", "")), LINKS)]
    return Machine(name, _part(kind, link), _part(Gpu, gpu), _part(Host, host))


def _based(content: dict[str, Any], known: Mapping[str, Machine]) -> Machine:
    """Return a known machine with what a file names in place of its own."""
    machine = known[check_choice("base", str(content["base"]), known)]
    for role in content.keys() - {"name", "base"}:
        part, table = machine.parts[check_choice("table", role, machine.parts)], content[role]
        if not isinstance(table, dict):
            refuse(role, table, f"be a table [{role}] with figures of the {role}")
        figures = dict(table)
        sources = _table(type(part), figures.pop("sources", {}))
        texts = {"source": figures.pop("source", f"{content['name']}: its file does not say"), **sources}
        if hasattr(part, "name"):
            texts["name"] = figures.pop("name", part.name)
        _check_texts(part.role, texts)
        for name in sources:
            check_choice(f"source of the {role}", name, [f"sources.{own}" for own in units_of(part)])
        part = part.with_settings(figures, texts["source"])
        own = {name.removeprefix("sources."): text for name, text in sources.items()}
        named: dict[str, Any] = {"name": texts["name"]} if "name" in texts else {}
        changed: dict[str, Any] = {role: replace(part, sources={**part.sources, **own}, **named)}
        machine = replace(machine, **changed)
    return machine


def _part(kind: type[PartKind], table: dict[str, Any]) -> PartKind:
    known = fields(kind)
    for name in table:
        check_choice(f"figure of the {kind.role}", name, [one.name for one in known])
    needed = [one.name for one in known if one.default is MISSING and one.default_factory is MISSING]
    missing = [name for name in needed if name not in table]
    if missing:
        raise InvalidFile(f"[{kind.role}] lacks {', '.join(missing)}")
    _check_texts(kind.role, {"name": table.get("name", ""), **_table(kind, table.get("sources", {}))})
    return kind(**table)


def _check_texts(role: str, texts: Mapping[str, object]) -> None:
    for name, text in texts.items():
        if not isinstance(text, str):
            refuse(f"{role}.{name}", text, "be a text")


def _table(kind: type[Part], sources: object) -> dict[str, Any]:
    if not isinstance(sources, dict):
        refuse(f"{kind.role}.sources", sources, "be a table of texts")
    return {f"sources.{name}": text for name, text in sources.items()}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _presets() -> dict[str, Machine]:
    """Read the machines that have names; one may be the base of those below it."""
    content = tomllib.loads(Path(__file__).with_name("machines.toml").read_text(encoding="utf-8"))
    known: dict[str, Machine] = {}
    for name, table in content.items():
        known[name] = _machine({"name": name, **table}, known)
    return known


MACHINES = _presets()
"""Machines by name."""


def find_machine(name: str | Path | Machine) -> Machine:
    """Return the machine of this name, or the one saved at this path; a `Machine` stands for itself."""
    if isinstance(name, Machine):
        return name
    if isinstance(name, Path) or "/" in name or name.endswith(".toml"):
        return Machine.load(name)
    found = MACHINES.get(name.lower())
    return found or MACHINES[check_choice("machine", name.lower(), MACHINES)]
