"""Machines as files: TOML that people read and write, with each number's source beside it.

A file has all numbers of a machine, or says from which preset it takes those that it does not name:

    name = "ours"
    base = "a5000"

    [gpu]
    memory = "48G"

    [gpu.sources]
    memory = "nvidia-smi"
"""

import json
import tomllib
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from grapin.errors import GrapinError, InvalidFile
from grapin.sim.figures import Part
from grapin.sim.links import ChipLink, Link, PcieLink
from grapin.sim.machine import Gpu, Host, Machine
from grapin.validation import check_choice, refuse

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
        return _machine(content)
    except GrapinError as error:
        raise InvalidFile(f"{path}: {error}") from None


def _machine(content: dict[str, Any]) -> Machine:
    name = content.get("name")
    if not isinstance(name, str):
        refuse("name", name, "be a text: what the machine is called")
    if "base" in content:
        return replace(_based(content), name=name)
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


def _based(content: dict[str, Any]) -> Machine:
    """Return a preset with the numbers that a file names in place of its own."""
    from grapin.sim.presets import MACHINES

    machine = MACHINES[check_choice("base", str(content["base"]), MACHINES)]
    for role in content.keys() - {"name", "base"}:
        table = content[check_choice("table", role, machine.parts)]
        if not isinstance(table, dict):
            refuse(role, table, f"be a table [{role}] with figures of the {role}")
        figures = dict(table)
        sources = _table(type(machine.parts[role]), figures.pop("sources", {}))
        for figure, value in figures.items():
            source = sources.get(f"sources.{figure}", f"{content['name']}: its file does not say")
            machine = machine.with_settings({f"{role}.{figure}": value}, source=str(source))
    return machine


def _part(kind: type[PartKind], table: dict[str, Any]) -> PartKind:
    known = fields(kind)
    for name in table:
        check_choice(f"figure of the {kind.role}", name, [one.name for one in known])
    needed = [one.name for one in known if one.default is MISSING and one.default_factory is MISSING]
    missing = [name for name in needed if name not in table]
    if missing:
        raise InvalidFile(f"[{kind.role}] lacks {', '.join(missing)}")
    texts = {"name": table.get("name", ""), **_table(kind, table.get("sources", {}))}
    for name, text in texts.items():
        if not isinstance(text, str):
            refuse(f"{kind.role}.{name}", text, "be a text")
    return kind(**table)


def _table(kind: type[Part], sources: object) -> dict[str, Any]:
    if not isinstance(sources, dict):
        refuse(f"{kind.role}.sources", sources, "be a table of texts")
    return {f"sources.{name}": text for name, text in sources.items()}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
