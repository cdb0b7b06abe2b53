"""`Machine`: a link, a GPU and a host as numbers, each with its source; what predictions are made for.

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
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from grapin.errors import GrapinError, InvalidFile
from grapin.figures import Figure, Part, figure, units_of
from grapin.sim.links import ChipLink, Link, PcieLink
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
