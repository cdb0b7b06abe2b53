"""The page about the model is held to the code."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

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


def test_the_pages_examples_run_that_need_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for example in examples:
        lines = [line for line in example.splitlines() if "from_this_computer" not in line]
        if "(trace," not in example:  # those go on with a trace that the reader has
            exec("\n".join(lines), {})
    assert (tmp_path / "faster.toml").is_file()
