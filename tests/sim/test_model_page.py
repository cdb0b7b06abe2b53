"""The page about the model is held to the code."""

import re
from collections import defaultdict
from dataclasses import fields
from pathlib import Path

from grapin.sim import MACHINES
from grapin.sim.paging import DRIVER
from grapin.sim.transfer import compaction, partition

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


def test_the_page_lists_the_numbers_of_other_systems() -> None:
    for module in (partition, partition, compaction):
        name = module.__name__.rpartition(".")[2]
        listed = _listed(name)
        assert listed
        assert listed == {f"{name}.{one}": str(getattr(module, one.strip())) for one in _own(listed)}


def _listed(prefix: str) -> dict[str, str]:
    rows = re.findall(rf"^\| `({prefix}\.\w+)` \| (\S+) \|", PAGE.read_text(), re.MULTILINE)
    return dict(rows)


def _own(listed: dict[str, str]) -> list[str]:
    return [one.partition(".")[2] for one in listed]
