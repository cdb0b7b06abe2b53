"""Every notebook runs from its first cell to its last, as a reader runs it, and is kept without what it shows."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
pytestmark = pytest.mark.usefixtures("compiled_already")


def test_there_is_one_for_each_use() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["keep_fresh", "measure", "trust", "what_if"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_as_the_format_asks_and_holds_no_output(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        assert text.strip() == text != ""
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    assert notebook["cells"][0]["source"][0].startswith("# ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_something_in_every_second_cell(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(EXAMPLES)
    names: dict[str, Any] = {"__name__": "notebook"}
    code = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    shown = [_run("".join(cell["source"]), f"{path.name}, {cell['id']}", names) for cell in code]
    assert sum(bool(one) for one in shown) >= len(code) / 2
    if path.stem == "trust":
        assert "must" in names["refused"]
        assert "engine.apply(" in names["failure"].script()


def _run(text: str, where: str, names: dict[str, Any]) -> str:
    """Run a cell; return what a notebook shows of its last line."""
    tree = ast.parse(text)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), names)
    if not isinstance(last, ast.Expr):
        return ""
    value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    if value is None:
        return ""
    html = getattr(value, "_repr_html_", None)
    return str(html() if html is not None else repr(value))
