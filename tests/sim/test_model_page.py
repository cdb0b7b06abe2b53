"""The page about the model is held to the code."""

import re
from collections import defaultdict
from dataclasses import fields
from pathlib import Path

from grapin import partitions
from grapin.sim import MACHINES
from grapin.sim.paging import DRIVER
from grapin.system import SYSTEMS

PAGE = Path(__file__).resolve().parents[2] / "docs/model.md"


def test_the_page_lists_every_number_of_every_preset_with_its_source() -> None:
    shared: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for machine in MACHINES.values():
        for one in machine.figures():
            shared[one.name, one.text, one.source].append(machine.name)
    expected = {
        f"| `{name}` | {text} | {'all' if len(of) == len(MACHINES) else ', '.join(of)} | {source} |"
        for (name, text, source), of in shared.items()
    }
    listed = {line for line in PAGE.read_text().splitlines() if re.match(r"\| `(link|gpu|host)\.", line)}
    assert listed == expected


def test_the_page_lists_every_parameter_of_unified_memory() -> None:
    expected = {f"driver.{one.name}": str(getattr(DRIVER, one.name)) for one in fields(DRIVER)}
    assert _listed("driver") == expected


def test_the_page_lists_the_numbers_of_every_transfer_with_its_source() -> None:
    lines = PAGE.read_text().splitlines()
    transfers = {system.transfer for system in SYSTEMS.values()}
    assert sum(bool(list(one.figures())) for one in transfers) >= 4
    for transfer in transfers:
        for one in transfer.figures():
            start = f"| `{transfer.name}.{one.name.partition('.')[2]}` | {one.text} | "
            (line,) = {line for line in lines if line.startswith(start)}
            assert line.endswith(f" | {one.source} |")


def test_the_page_lists_the_constants_of_hytgraphs_equations() -> None:
    listed = _listed("partitions")
    assert listed == {
        "partitions.OUTSTANDING": str(partitions.OUTSTANDING),
        "partitions.GAMMA": str(partitions.GAMMA),
    }


def _listed(prefix: str) -> dict[str, str]:
    rows = re.findall(rf"^\| `({prefix}\.\w+)` \| (\S+) \|", PAGE.read_text(), re.MULTILINE)
    return dict(rows)
