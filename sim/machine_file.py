"""Machines as files: TOML that people read and write, with each number's source beside it."""

import json
import tomllib
from pathlib import Path
from typing import Any

from grapin.errors import GrapinError, InvalidFile
from grapin.sim.figures import Part
from grapin.sim.links import ChipLink, PcieLink
from grapin.sim.machine import Gpu, Host, Machine
from grapin.validation import check_choice

LINKS = {"pcie": PcieLink, "nvlink-c2c": ChipLink}


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
        link = _part(LINKS[check_choice("link.kind", content["link"].pop("kind"), LINKS)], content["link"])
        return Machine(content["name"], link, _part(Gpu, content["gpu"]), _part(Host, content["host"]))
    except KeyError as error:
        raise InvalidFile(
            f"{path}: lacks {error.args[0]!r}; a saved machine shows all that is needed"
        ) from None
    except (AttributeError, TypeError) as error:
        raise InvalidFile(f"{path}: a table of it is not a part of a machine ({error})") from None
    except GrapinError as error:
        raise InvalidFile(f"{path}: {error}") from None


def _part(kind: type[Part], table: dict[str, Any]) -> Any:
    return kind(**table)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
