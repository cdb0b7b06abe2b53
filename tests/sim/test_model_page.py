"""The page about the model is held to the code."""

import re
from collections import defaultdict
from pathlib import Path

from grapin.sim import MACHINES

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
