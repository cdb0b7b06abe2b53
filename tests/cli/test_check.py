"""`grapin check` finds what is wrong with devices and programs, and fails with a sentence on bad input."""

import json
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from grapin.cli import check
from grapin.cli.main import main
from grapin.testing import Case, failures
from grapin.testing.case import Verdict

ROOT = Path(__file__).resolve().parents[2]
FORGETFUL = "docs/examples/forgetful_device.py"
HERE = ("--no-hubs", "--processes", "1")
"""In this process, where a test has put something in the way."""
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def shown_on_the_page() -> tuple[list[str], str]:
    """Return the arguments of the command that the page shows, and what it says that comes out."""
    page = (ROOT / "docs" / "testing.md").read_text()
    found = re.search(r"```console head\n\$ grapin check (?P<arguments>.+)\n(?P<output>(?:.|\n)+?)```", page)
    assert found is not None
    return found["arguments"].split(), found["output"]


def test_the_page_shows_the_form_of_what_comes_out(capsys: Captured) -> None:
    """Only the form: another release of Hypothesis draws other examples."""
    arguments, output = shown_on_the_page()
    assert main(["check", *arguments]) == 1
    found = capsys.readouterr().out
    assert without_numbers(found.splitlines()[:2]) == without_numbers(output.splitlines()[:2])
    assert [line for line in found.splitlines() if "verify_engine" in line] == [
        line for line in output.splitlines() if "verify_engine" in line
    ]


def test_the_script_on_the_page_fails_as_the_page_says(tmp_path: Path) -> None:
    _, output = shown_on_the_page()
    sentence, _, script = output.partition('"""')[2].partition('"""')
    (tmp_path / "page.py").write_text(script)
    run = subprocess.run([sys.executable, tmp_path / "page.py"], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == f"grapin.errors.{sentence}"


def without_numbers(lines: list[str]) -> list[str]:
    return [re.sub(r"N (edge|mutation)s?", r"N \1s", re.sub(r"\d+", "N", line)) for line in lines]


def test_the_script_is_written_and_fails_as_it_says(tmp_path: Path, capsys: Captured) -> None:
    script = tmp_path / "failing.py"
    options = ["--device", FORGETFUL, "--program", "sssp", "--weights", "0:9", "--out", str(script)]
    assert main(["check", *options]) == 1
    assert f"Written to {script}" in capsys.readouterr().out
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    sentence = script.read_text().splitlines()[0].strip('"')
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == f"grapin.errors.{sentence}"


def test_a_failure_on_a_graph_is_cut_down_to_a_few_of_its_edges(capsys: Captured) -> None:
    options = ["--device", FORGETFUL, "--program", "sssp", "rmat:5", *HERE]
    assert main(["check", *options]) == 1
    shown = re.search(r"Shrunk from (\d+) edges? .* to (\d+) edges? and (\d+) mut", capsys.readouterr().out)
    assert shown is not None
    before, edges, mutations = map(int, shown.groups())
    assert before > 100
    assert edges + mutations <= 10


def test_right_answers_make_a_table_and_exit_code_0(tmp_path: Path, capsys: Captured) -> None:
    script = tmp_path / "failing.py"
    options = [
        "--program",
        "sssp,cc",
        "--device",
        "reference",
        "--system",
        "bounded,grapin",
        "--out",
        str(script),
    ]
    assert main(["check", *options, "--examples", "5"]) == 0
    rows = re.findall(r"^ +(\w+) +reference +(\w+) +5 +none", capsys.readouterr().out, re.MULTILINE)
    assert rows == [("sssp", "bounded"), ("sssp", "grapin"), ("cc", "bounded"), ("cc", "grapin")]
    assert not script.exists()


def test_a_rule_that_is_not_monotone_is_a_failure_with_the_rules_own_values(
    tmp_path: Path, capsys: Captured
) -> None:
    program = tmp_path / "mine.py"
    program.write_text(
        "import grapin\n"
        "class Gaining(grapin.Monotone):\n"
        "    name = 'gaining'\n"
        "    @staticmethod\n"
        "    def edge(value, weight):\n"
        "        return value - weight\n"
    )
    assert main(["check", "--program", f"{program}:Gaining", "--device", "reference"]) == 1
    shown = capsys.readouterr().out
    assert "Gaining.edge must not improve a value, but edge(" in shown
    assert "This script reproduces it:" in shown
    assert f'Gaining = find_program("{program}:Gaining")' in shown


def test_a_rule_that_breaks_where_no_stream_leads_is_a_failure_too(tmp_path: Path, capsys: Captured) -> None:
    program, script = tmp_path / "mine.py", tmp_path / "failing.py"
    program.write_text(
        "import grapin\n"
        "class Bent(grapin.Monotone):\n"
        "    name = 'bent'\n"
        "    @staticmethod\n"
        "    def edge(value, weight):\n"
        "        return value + weight if value < 777 else value + 1\n"
    )
    asked = ["--program", f"{program}:Bent", "--device", "reference", "--weights", "0:9"]
    assert main(["check", *asked, "--examples", "1", "--out", str(script)]) == 1
    sentence = "Bent.edge must keep order, but 776 is better than 777"
    assert f"{program}:Bent: its rule failed: BrokenRule: {sentence}" in capsys.readouterr().out
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1].startswith(f"grapin.errors.BrokenRule: {sentence}")


def test_a_misspelt_attribute_is_one_sentence_and_exit_code_2(tmp_path: Path, capsys: Captured) -> None:
    program = tmp_path / "mine.py"
    program.write_text("import grapin\nclass Mine(grapin.SSSP):\n    bettr = 'larger'\n")
    assert main(["check", "--program", f"{program}:Mine"]) == 2
    assert "Mine.bettr must" in capsys.readouterr().err


def test_the_same_seed_draws_the_same_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[list[Case]] = []

    def note(_setup: object, case: Case) -> Verdict:
        drawn[-1].append(case)
        return Verdict()

    monkeypatch.setattr(failures, "judge", note)
    for seed in ("1", "1", "2"):
        drawn.append([])
        assert main(["check", "--program", "bfs", "--examples", "20", *HERE, "--seed", seed]) == 0
    assert len(drawn[0]) == 20
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


@pytest.mark.parametrize(("program", "least"), [("pagerank", 0), ("sssp", 1)])
def test_streams_may_start_from_graphs_without_edges(
    monkeypatch: pytest.MonkeyPatch, program: str, least: int
) -> None:
    drawn: list[Case] = []

    def note(_setup: object, case: Case) -> Verdict:
        drawn.append(case)
        return Verdict()

    monkeypatch.setattr(failures, "judge", note)
    assert main(["check", "--program", program, "empty", "--examples", "200", *HERE]) == 0
    assert not any(case.edges for case in drawn)
    assert min(case.vertices for case in drawn) == least
    assert max(case.vertices for case in drawn) > 5
    assert {case.weights for case in drawn} == {"none", "int32", "float32"}
    assert {case.directed for case in drawn} == {False, True}
    parts = {part for case in drawn for batch in case.batches for part, _ in batch}
    assert {"insert", "delete", "insert_vertices", "delete_vertices"} <= parts
    if least == 0:
        assert any(not case.vertices and case.mutations for case in drawn)


class Judge:
    """Stands in for what tries a case: counts, and stops or fails at a number."""

    def __init__(self, *, stops_at: int = -1, fails_at: int = -1) -> None:
        self.tried = 0
        self._stops_at, self._fails_at = stops_at, fails_at

    def __call__(self, _setup: object, _case: Case) -> Verdict:
        self.tried += 1
        if self.tried == self._stops_at:
            raise KeyboardInterrupt
        return Verdict("WrongAnswer: planted" if self.tried == self._fails_at else None)


def test_a_search_that_was_stopped_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(check, "STRETCH", 20)
    file = tmp_path / "search.jsonl"
    options = ["--program", "bfs", "empty", "--examples", "90", "--record", str(file), *HERE]

    def tried(expected: int, *more: str, **planted: int) -> int:
        judge = Judge(**planted)
        monkeypatch.setattr(failures, "judge", judge)
        assert main(["check", *options, *more]) == expected
        return judge.tried

    assert tried(130, stops_at=50) == 50
    assert len(file.read_text().splitlines()) == 2
    with file.open("a") as cut_off:
        cut_off.write('{"stretch": {"se')
    assert tried(1, fails_at=5) > 5  # a failure is written down, and looked for again
    assert "planted" in json.loads(file.read_text().splitlines()[-1])["failure"]
    assert tried(0) == 50
    assert re.search(r"bfs .* 90 +none", capsys.readouterr().out)
    assert tried(0) == 0
    assert re.search(r"bfs .* 90 +none", capsys.readouterr().out)
    assert tried(0, "--seed", "100") == 90
    monkeypatch.setattr(check, "digest_of_sources", lambda *_names: "changed")
    assert tried(0) == 90


def test_a_change_to_a_program_of_ones_own_is_noticed(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("one")
    before = check.digest_of_sources(f"{own}:Own", "cpu")
    assert check.digest_of_sources(f"{own}:Own", "cpu") == before
    own.write_text("two")
    assert check.digest_of_sources(f"{own}:Own", "cpu") != before


def test_a_failure_that_comes_and_goes_is_called_a_race(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def every_third_time(*_arguments: object) -> Verdict:
        nonlocal asked
        asked += 1
        return Verdict("WrongAnswer: vertex 1 has 2, expected 1" if asked % 3 == 0 else None)

    monkeypatch.setattr(failures, "judge", every_third_time)
    assert main(["check", "--device", "reference", "--program", "sssp", *HERE]) == 1
    assert re.search(r"It failed in [34]0% of further runs: threads may race\.", capsys.readouterr().out)


def test_ctrl_c_is_one_sentence(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(failures, "judge", interrupt)
    assert main(["check", "--device", "reference", "--program", "sssp", *HERE]) == 130
    assert capsys.readouterr().err.strip() == "grapin: interrupted"


@pytest.mark.parametrize("raised", [True, False], ids=["dropped", "in-the-collector"])
def test_ctrl_c_ends_the_search_also_where_somebody_drops_it(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, *, raised: bool
) -> None:
    tried: list[Case] = []

    def drop(_setup: object, case: Case) -> Verdict:
        tried.append(case)
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return Verdict()

    def gc_callback(_setup: object, case: Case) -> Verdict:
        tried.append(case)
        signal.raise_signal(signal.SIGINT)
        return Verdict()

    monkeypatch.setattr(failures, "judge", drop if raised else gc_callback)
    before = signal.getsignal(signal.SIGINT)
    assert main(["check", "--device", "reference", "--program", "sssp", *HERE]) == 130
    assert capsys.readouterr().err.strip() == "grapin: interrupted"
    assert len(tried) == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_streams_whose_values_outgrow_32_bits_are_told_of(capsys: Captured) -> None:
    asked = ["check", "--program", "sssp", "--device", "cpu", "--examples", "40", *HERE]
    assert main([*asked, "--weights", "2000000000:2147483647"]) == 0
    shown = capsys.readouterr().out
    (row,) = re.findall(r"^ *sssp +cpu +bounded +(\d+) +(\w+) +none", shown, re.MULTILINE)
    assert row[0] == "40"
    assert 0 < int(row[1]) < 40
    assert "Smaller --weights" in shown
    assert main([*asked, "--weights", "0:9"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^ *sssp +cpu +bounded +40 +none +none", shown, re.MULTILINE)
    assert "Smaller --weights" not in shown


def test_what_a_device_raises_is_a_failure_too(tmp_path: Path, capsys: Captured) -> None:
    device = tmp_path / "broken.py"
    device.write_text(
        "name = 'broken'\n"
        "def unavailable():\n    return None\n"
        "def query(program, system, **options):\n    raise IndexError('list 7 is out of range')\n"
    )
    assert main(["check", "--device", str(device), "--program", "bfs"]) == 1
    shown = capsys.readouterr().out
    assert "example 1 failed: IndexError: list 7 is out of range" in shown
    assert "This script reproduces it:" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--program", "pagerang"], "did you mean 'pagerank'"),
        (["--device", "gpu"], "--device gpu must be one of"),
        (["--device", "absent.py"], "--device absent.py must name a file that exists"),
        (["--device", "docs/examples/most_reliable_path.py"], "there is no name, no unavailable, no query"),
        (["--device", f"{FORGETFUL}:Nothing"], "the file has no 'Nothing'"),
        (["--system", "bonded"], "did you mean 'bounded'"),
        (["--weights", "9:0"], "--weights 9:0 must be none, LOW:HIGH"),
        (["--weights", "0:4294967296"], "--weights 0:4294967296 must end below"),
        (["rmat:4", "--weights", "none"], "must fit the graph's weights (int32)"),
        (["--examples", "0"], "--examples 0 must be at least 1"),
        (["--processes", "0"], "--processes 0 must be at least 1"),
        (["--processes", "2", "--cluster", "tcp://x:1"], "--processes 2 must be left out"),
        (["--out", "nowhere/failing.py"], "must be in a directory that exists"),
        (["--record", "nowhere/search.jsonl"], "must be in a directory that exists"),
        (["--record", "README.md"], "README.md, line 1: must be a record of grapin check"),
        (["--record", "x.jsonl", "rmat:4"], "--record x.jsonl must be left out where streams"),
        (["--cache", "10%", "--system", "grapin-zc"], "has no use under --system grapin-zc"),
        (["--cache", "10%", "--device", "reference"], "must be left out on --device reference"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    capsys: Captured, arguments: list[str], sentence: str
) -> None:
    assert main(["check", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert sentence in shown.err
    assert shown.err.count("\n") == 1


def test_interleavings_of_a_device_that_has_none_are_refused(capsys: Captured) -> None:
    assert main(["check", "--device", "cpu", "--interleavings", "5"]) == 2
    assert "--interleavings 5 must be left out on --device cpu" in capsys.readouterr().err
