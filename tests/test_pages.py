"""Every code block and every command that README and docs show is run."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from pages import Block, blocks, check_options, run_commands, run_python, same_form

import grapin
from grapin.cli.main import main
from grapin.stream import workload

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "experiments" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOT_CODE = {"", "text", "toml", "mermaid"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files that pages speak of, as the working directory."""
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    shutil.copy(ROOT / "docs" / "examples" / "most_reliable_path.py", tmp_path / "my_program.py")
    shutil.copy(ROOT / "docs" / "examples" / "forgetful_device.py", tmp_path / "my_device.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    small = grapin.generate("rmat:6:6", seed=1)
    (tmp_path / "graph.txt").write_text(
        "".join(f"{u} {v}\n" for u, v in zip(small.source, small.target, strict=True))
    )
    rows = zip(small.source, small.target, strict=True)
    (tmp_path / "links.csv").write_text(
        "source,target,weight\n" + "".join(f"{u},{v},{1 / (1 + (u + v) % 4)}\n" for u, v in rows)
    )
    (tmp_path / "out-degrees.txt").write_text("".join(f"{1 + vertex % 9}\n" for vertex in range(4096)))
    return tmp_path


def what_a_reader_has() -> dict[str, Any]:
    """Return the names that pages take for granted: a graph, a program, a stream, a batch."""
    graph = grapin.load("rmat:8:8", seed=1)
    stream = workload(grapin.generate("rmat:8:8"), batches=3, size=40)
    return {
        "__name__": "page",
        "grapin": grapin,
        "graph": graph,
        "program": grapin.SSSP(0),
        "stream": grapin.stream.sample(graph, batches=2, size=10, seed=1),
        "batch": next(iter(stream)),
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_is_what_happens(
    page: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = what_a_reader_has()
    for block in blocks(page):
        if block.fence == "python":
            run_python(block, names)
        elif block.fence == "python gpu":
            compile(block.text, block.where, "exec")
        elif block.fence == "sh":
            run_commands(block)
        elif block.fence in {"sh gpu", "sh slow"}:
            check_options(block)
        elif block.fence in {"console", "console head"}:
            capsys.readouterr()
            (arguments,) = block.commands
            main(arguments)
            _compare(block, capsys.readouterr().out.splitlines())
        else:
            assert block.fence in NOT_CODE, f"{block.where}: nothing tries ```{block.fence}"
            assert not list(block.commands), f"{block.where}: a command that nothing runs"


def _compare(block: Block, printed: list[str]) -> None:
    """Hold what a command printed to what the page shows below it."""
    shown = block.text.splitlines()[1:]
    if block.fence.endswith("head"):
        shown, printed = shown[:2], printed[:2]
    assert same_form(shown, printed), f"{block.where} prints\n" + "\n".join(printed)
