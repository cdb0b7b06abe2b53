"""The answer of a run: values, the best of them and the ways to some, by the names the file uses."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

import grapin
from grapin import session as session_module
from grapin.cli import run as run_module
from grapin.cli import values as values_module
from grapin.cli.main import main
from grapin.errors import WrongAnswer
from grapin.programs.starting import UNREACHED

EVENTS = (
    "source,target,weight,change,time\n"
    "ann,bob,3,1,1\nbob,cy,4,1,2\ncy,dee,1,1,3\nann,dee,9,1,4\nbob,cy,4,-1,5\neve,fay,2,1,6\ndee,cy,2,1,7\n"
)
"""At the end: ann-bob 3, cy-dee 1, ann-dee 9, eve-fay 2, dee-cy 2."""
SSSP = {"ann": 0, "bob": 3, "cy": 11, "dee": 9, "eve": None, "fay": None}
SSWP = {"ann": "infinity", "bob": 3, "cy": 2, "dee": 9, "eve": None, "fay": None}
CC = {"ann": "ann", "bob": "ann", "cy": "ann", "dee": "ann", "eve": "eve", "fay": "eve"}
PROGRAMS = "sssp,sswp,cc,pagerank"
FAST = ["--device", "reference"]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A run of events between people, in batches of two, whose values are known."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.csv").write_text(EVENTS)
    return ["run", "empty", "--updates", "events.csv", "--batch-size", "2", "--source", "ann", *FAST]


def from_csv(file: str) -> dict[str, dict[str, Any]]:
    with Path(file).open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    return {
        name: {row["vertex"]: row[name] if row[name] != "" else None for row in rows}
        for name in rows[0]
        if name != "vertex"
    }


def from_parquet(file: str) -> dict[str, dict[str, Any]]:
    table = parquet.read_table(file).to_pydict()
    names = table.pop("vertex")
    return {program: dict(zip(names, values, strict=True)) for program, values in table.items()}


def from_npz(file: str) -> dict[str, dict[str, Any]]:
    with np.load(file, allow_pickle=False) as opened:
        names = opened["vertex"].tolist()
        return {
            program: {
                name: value if reached else None
                for name, value, reached in zip(
                    names, opened[program].tolist(), opened[f"{program}_reached"], strict=True
                )
            }
            for program in PROGRAMS.split(",")
        }


def from_json(file: str) -> dict[str, dict[str, Any]]:
    table = json.loads(Path(file).read_text())
    names = table.pop("vertex")
    return {program: dict(zip(names, values, strict=True)) for program, values in table.items()}


def plain(value: Any) -> Any:
    """Return a value as every format can say it."""
    if value is None or value in ("ann", "eve"):
        return value
    return "infinity" if float(value) == float("inf") else float(value)


@pytest.mark.parametrize(
    ("file", "read"),
    [("a.csv", from_csv), ("a.parquet", from_parquet), ("a.npz", from_npz), ("a.json", from_json)],
)
def test_values_at_the_end_are_written_by_the_files_own_names(
    file: str,
    read: Callable[[str], dict[str, dict[str, Any]]],
    asked: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*asked, "--program", PROGRAMS, "--values", file, "--verify"]) == 0
    found = read(file)
    assert list(found) == PROGRAMS.split(",")
    for program, expected in (("sssp", SSSP), ("sswp", SSWP), ("cc", CC)):
        assert list(found[program]) == sorted(expected)
        assert {name: plain(value) for name, value in found[program].items()} == {
            name: plain(value) for name, value in expected.items()
        }, program
    ranks = [float(rank) for rank in found["pagerank"].values()]
    assert sum(ranks) == pytest.approx(1)
    assert min(ranks) > 0


def test_compressed_text_holds_the_same(asked: list[str], tmp_path: Path) -> None:
    import gzip

    assert main([*asked, "--values", "a.csv"]) == 0
    assert main([*asked, "--values", "a.csv.gz"]) == 0
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == (tmp_path / "a.csv").read_bytes()


def test_values_are_those_of_the_engine_under_numbers_that_are_not_dense(tmp_path: Path) -> None:
    """A generated graph under other names: each value must be the one that the same graph has under its ids."""
    edges = grapin.generate("rmat:6:3", seed=3)
    assert edges.weight is not None
    file = tmp_path / "graph.csv"
    file.write_text(
        "source,target,weight\n"
        + "".join(
            f"{1000 - 7 * u},{1000 - 7 * v},{w}\n"
            for u, v, w in zip(
                edges.source.tolist(), edges.target.tolist(), edges.weight.tolist(), strict=True
            )
        )
    )
    out = tmp_path / "values.csv"
    options = ["--batches", "1", "--batch-size", "1", "--insertions", "1", "--source", "1000"]
    assert main(["run", str(file), *options, "--program", "sssp,bfs", "--values", str(out), *FAST]) == 0
    graph = grapin.Graph.from_edges(edges.source, edges.target, edges.weight, vertices=edges.vertices)
    found = from_csv(str(out))
    used = set(edges.source.tolist()) | set(edges.target.tolist())
    for program in (grapin.SSSP(0), grapin.BFS(0)):
        engine = grapin.Engine(graph, program, device="reference")
        expected = {
            str(1000 - 7 * vertex): None if value == UNREACHED else str(value)
            for vertex, value in enumerate(engine.values.tolist())
            if vertex in used
        }
        assert found[program.name] == expected


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("weights", ["none", "int32", "float32"])
def test_what_is_reached_is_what_the_query_says(device: str, weights: str) -> None:
    weight = None if weights == "none" else np.array([5, 0, 2, 3], weights)
    graph = grapin.Graph.from_edges([0, 1, 2, 5], [1, 2, 3, 6], weight, vertices=8)
    programs = [
        grapin.BFS(0),
        grapin.SSSP([0, 5]),
        grapin.SSWP(0),
        grapin.ConnectedComponents(),
        grapin.PageRank(),
    ]
    engine = grapin.Engine(graph, programs, device=device)
    for query, column in zip(engine._queries, values_module.collect(engine).columns, strict=True):
        assert column.reached.tolist() == [query.reached(vertex) for vertex in range(8)], column.name


def test_the_best_are_printed_and_what_is_unreached_is_said(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*asked, "--program", PROGRAMS, "--top", "3"]) == 0
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines()]
    begin = lines.index(["sssp:", "top", "3,", "smaller", "is", "better"])
    assert [one for one in lines[begin:] if one][3:6] == [["ann", "0"], ["bob", "3"], ["dee", "9"]]
    begin = lines.index(["sswp:", "top", "3,", "larger", "is", "better"])
    assert [one for one in lines[begin:] if one][3:6] == [["ann", "infinity"], ["dee", "9"], ["bob", "3"]]
    begin = lines.index(["cc:", "the", "largest", "of", "2", "components"])
    assert [one for one in lines[begin:] if one][3:5] == [["ann", "4"], ["eve", "2"]]
    assert "sssp reaches 4 of 6 vertices; 2 are unreached." in shown


def test_of_ranks_the_highest_come_first(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*asked[:-4], *FAST, "--program", "pagerank", "--top", "6", "--json", "-"]) == 0
    best = json.loads(capsys.readouterr().out)["top"]["pagerank"]
    assert [rank for _, rank in best] == sorted((rank for _, rank in best), reverse=True)
    assert {name for name, _ in best[:2]} == {"cy", "dee"}


def test_a_path_is_told_by_names_under_each_program_that_has_paths(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*asked, "--program", "sssp,pagerank,sswp", "--path", "cy", "--path", "fay"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[-4:] == [
        "sssp to cy, value 11: ann -> dee -> cy",
        "sssp to fay: unreached",
        "sswp to cy, value 2: ann -> dee -> cy",
        "sswp to fay: unreached",
    ]


def test_paths_and_the_best_are_in_the_json_object_only_when_asked_for(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*asked, "--path", "cy", "--path", "fay", "--top", "2", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["top"] == {"sssp": [["ann", 0], ["bob", 3]]}
    assert found["paths"]["sssp"] == {
        "cy": {"exists": True, "value": 11, "path": ["ann", "dee", "cy"]},
        "fay": {"exists": True, "value": None, "path": None},
    }
    assert main([*asked, "--json", "-"]) == 0
    assert not {"top", "paths"} & json.loads(capsys.readouterr().out).keys()


def test_a_target_that_has_not_come_when_the_run_ends_is_said_to_be_missing(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*asked, "--batches", "1", "--path", "fay"]) == 0
    assert capsys.readouterr().out.endswith("sssp to fay: not a vertex of the graph when the run ended\n")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--values", "a.txt"], "--values a.txt must end in .csv or .json"),
        (["--values", "a"], "--values a must end in .csv"),
        (["--values", "a.npz.gz"], "--values a.npz.gz must end in .csv"),
        (["--values", "events.csv"], "must be another file than those that are read or written"),
        (
            ["--values", "a.json", "--json", "a.json"],
            "must be another file than those that are read or written",
        ),
        (["--values", "nowhere/a.csv"], "must be in a directory that exists"),
        (["--path", "zoe"], "--path zoe must be a vertex of the graph or of its updates"),
        (["--path", "0"], "--path 0 must be a vertex of the graph or of its updates"),
        (["--program", "sssp,sssp"], "--program sssp,sssp must name each program once"),
        (["--top", "0"], "Invalid value for '--top'"),
        (["--rows", "some"], "Invalid value for '--rows'"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_the_run_starts(
    options: list[str],
    sentence: str,
    asked: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_module, "Session", None)
    assert main([*asked, *options]) == 2
    assert sentence in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["events.csv"]
    assert (tmp_path / "events.csv").read_text() == EVENTS


@pytest.mark.parametrize("target", ["9", "-1", "x", "1.0"])
def test_a_target_of_a_graph_without_names_is_an_id(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "path:9", "--source", "0", f"--path={target}", *FAST]) == 2
    assert f"--path {target} must be a vertex" in capsys.readouterr().err
    once = ["--batches", "1", "--batch-size", "1", "--insertions", "0", "--seed", "1", "--program", "bfs"]
    assert main(["run", "path:9", "--source", "0", "--path", "1", *once, *FAST]) == 0
    assert "bfs to 1, value 1: 0 -> 1" in capsys.readouterr().out


def test_ranks_have_no_paths(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "path:9", "--program", "pagerank", "--path", "1", *FAST]) == 2
    assert "--path 1 must be left out: pagerank has no paths" in capsys.readouterr().err


def test_a_wrong_answer_is_not_written(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def complain(*_: object) -> None:
        raise WrongAnswer("vertex 3 has 7, expected 5")

    monkeypatch.setattr(session_module, "verify_answer", complain)
    assert main([*asked, "--verify", "--values", "a.csv", "--top", "2", "--path", "cy"]) == 1
    assert not (tmp_path / "a.csv").exists()
    shown = capsys.readouterr()
    assert "top" not in shown.out
    assert "sssp to" not in shown.out


def test_an_old_file_stays_when_writing_fails(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_values: Any, sink: Any) -> None:
        sink.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setitem(values_module._WRITERS, ".csv", fail)
    (tmp_path / "a.csv").write_text("old")
    assert main([*asked, "--values", "a.csv"]) == 130
    assert (tmp_path / "a.csv").read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.csv", "events.csv"]


def test_names_with_brackets_are_printed_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "graph.csv").write_text("source,target\n[red]x,[/b]y\n[/b]y,[red]x\nz,[red]x\n")
    asked = ["--batches", "1", "--batch-size", "1", "--program", "pagerank", "--top", "3", *FAST]
    assert main(["run", str(tmp_path / "graph.csv"), *asked]) == 0
    shown = capsys.readouterr().out
    assert "[red]x" in shown
    assert "[/b]y" in shown
