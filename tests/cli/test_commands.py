"""Commands do what they say, and every expected failure is one sentence with exit code 2."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from grapin import __version__
from grapin.cli import main as entry
from grapin.cli.main import COMMANDS, commands, main

pytestmark = pytest.mark.usefixtures("compiled_already")


def test_version_names_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"grapin {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"Usage: grapin {name}" in capsys.readouterr().out


def test_python_dash_m_is_the_same_command_line() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "grapin", "nonsense"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stderr == f"grapin: there is no command 'nonsense'; there are {', '.join(COMMANDS)}.\n"


def test_help_does_not_load_numba() -> None:
    script = (
        "import sys; from grapin.cli.main import main; main(['--help']); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_info_counts_what_is_in_the_graph(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "grid:3:4", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["vertices"], facts["arcs"], facts["largest degree"]) == (12, 34, 4)
    assert facts["memory"]["out.neighbours"] > 0


def test_info_of_a_file_with_deletions_counts_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "events.csv"
    file.write_text("source,target,change,time\n0,1,1,1\n1,2,1,2\n0,1,-1,3\n")
    assert main(["info", str(file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["rows"], facts["deletions"], facts["arcs"], facts["times"]) == (3, 1, 1, [1, 3])


def test_info_prints_tables_and_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "rmat:4", "--undirected"]) == 0
    shown = capsys.readouterr().out
    assert "largest degree" in shown
    assert "out.neighbours" in shown
    assert "self loops or repeated; dropped" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["inof"], "there is no command 'inof'; did you mean 'info'?"),
        (["info"], "Missing argument 'GRAPH'."),
        (["info", "no-such-file.txt"], "no-such-file.txt must exist, but there is no such file"),
        (["info", "rmat:x"], "rmat:x must be rmat:SCALE[:EDGEFACTOR]"),
        (["info", "star:3", "--seed", "-1"], "--seed -1 must be at least 0"),
        (["generate", "star:3", "star.doc"], "star.doc must end in .txt or .csv"),
        (
            ["generate", "star:3", "nowhere/star.csv"],
            "nowhere/star.csv must be in a directory that exists",
        ),
        (["generate", "star:3", "star.npz.gz"], "star.npz.gz must end in"),
    ],
)
def test_a_failure_is_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("grapin: ")
    assert shown.err.count("\n") == 1
    assert sentence in shown.err


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "graph.txt"), 2, "graph.txt: Permission denied"),
        (MemoryError("1 PiB"), 2, "there is not enough memory: 1 PiB"),
    ],
)
def test_interruptions_and_the_systems_refusals_are_sentences_too(
    error: BaseException,
    code: int,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(commands, "main", fail)
    assert main([]) == code
    assert capsys.readouterr().err == f"grapin: {sentence}\n"


def test_a_reader_that_leaves_is_met_with_silence() -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "grapin", "info", "grid:3:4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert run.stdout is not None
    run.stdout.close()
    _, errors = run.communicate()
    assert (run.returncode, errors) == (1, b"")


def test_every_file_that_holds_a_command_is_listed() -> None:
    folder = Path(entry.__file__).parent
    holding = {file.stem for file in folder.glob("*.py") if "\ndef command(" in file.read_text()}
    assert holding == set(COMMANDS)


def test_weights_are_asked_for_alike_in_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare, drawn, none = (str(tmp_path / name) for name in ("bare.csv", "drawn.csv", "none.csv"))
    assert main(["generate", "path:9", none, "--weights", "ignore"]) == 0
    assert "weight" not in Path(none).read_text()
    assert main(["generate", "path:9", drawn, "--weights", "5:5"]) == 0
    assert {line.split(",")[-1] for line in Path(drawn).read_text().splitlines()[1:]} == {"5"}
    assert main(["convert", none, bare, "--weights", "7:7"]) == 0
    assert {line.split(",")[-1] for line in Path(bare).read_text().splitlines()[1:]} == {"7"}
    capsys.readouterr()
    assert main(["info", none, "--weights", "1:9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["weights"] == "int32"
    assert main(["info", none, "--weights", "heavy"]) == 2
    assert "--weights heavy must be one of" in capsys.readouterr().err


def test_info_writes_its_object_to_a_file_as_the_others_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "facts.json"
    assert main(["info", "grid:3:4", "--json", str(file)]) == 0
    assert json.loads(file.read_text())["vertices"] == 12
    assert "largest degree" in capsys.readouterr().out
    assert main(["info", "grid:3:4", "--json=-"]) == 0
    assert json.loads(capsys.readouterr().out)["vertices"] == 12
