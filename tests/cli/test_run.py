"""A run keeps an answer fresh over sampled and recorded streams, and reports all of it or nothing."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import grapin
from grapin import session as session_module
from grapin.cli.main import main
from grapin.cli.workload import prepare
from grapin.errors import WrongAnswer

pytestmark = pytest.mark.usefixtures("compiled_already")

FIELDS = [
    "grapin",
    "when",
    "origin",
    "program",
    "sources",
    "system",
    "device",
    "threads",
    "cache",
    "seed",
    "graph",
    "initial",
    "batches",
    "verified",
]
BATCH_FIELDS = {
    "inserted",
    "deleted",
    "reweighted",
    "ignored",
    "update_seconds",
    "compute_seconds",
    "iterations",
    "changed",
    "invalidated",
    "edges_read",
    "lists_read",
    "affected_edges",
    "requests",
    "bytes",
    "pages",
    "link_bytes",
    "cached_edges",
    "load_bytes",
    "patch_bytes",
}
EVENTS = "a,b,1,1\nb,c,1,2\nc,d,1,3\na,d,1,4\nb,c,-1,5\na,b,-1,6\nd,e,1,7\n"


@pytest.fixture
def events(tmp_path: Path) -> str:
    """Four insertions, two deletions, one more insertion, between vertices named by letters."""
    file = tmp_path / "events.csv"
    file.write_text("source,target,change,time\n" + EVENTS)
    return str(file)


@pytest.fixture
def record(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Run and return the JSON object that was printed."""

    def run(*arguments: str) -> dict[str, Any]:
        assert main(["run", *arguments, "--json", "-"]) == 0
        printed: dict[str, Any] = json.loads(capsys.readouterr().out)
        return printed

    return run


@pytest.mark.parametrize("graph", ["path:3", "path:9", "rmat:4:2", "star:40"])
def test_a_small_graph_needs_no_options(graph: str, record: Callable[..., dict[str, Any]]) -> None:
    found = record(graph, "--device", "reference", "--verify")
    assert 1 <= len(found["batches"]) <= 10
    assert all(batch["inserted"] + batch["deleted"] > 0 for batch in found["batches"])


def prepared(graph: str, **options: Any) -> tuple[grapin.Graph, list[int]]:
    usual: dict[str, Any] = {
        "source": "auto",
        "batches": 1,
        "batch_size": 2,
        "insertions": 0.5,
        "updates": None,
        "directed": None,
        "weights": "keep",
        "seed": 0,
    }
    stream, sources = prepare(graph, **(usual | options))
    return stream.graph(), sources


def weights_of(graph: str, rule: str, seed: int) -> list[float]:
    _, _, weight = prepared(graph, weights=rule, seed=seed)[0].edge_arrays()
    assert weight is not None
    return [float(one) for one in weight]


def test_the_json_object_has_just_the_documented_fields(record: Callable[..., dict[str, Any]]) -> None:
    found = record(
        "rmat:6:4", "--batches", "3", "--batch-size", "8", "--seed", "5", "--threads", "1", "--verify"
    )
    assert list(found) == FIELDS
    assert (found["program"], found["system"], found["device"]) == ("sssp", "bounded", "cpu")
    assert (found["threads"], found["seed"], found["verified"]) == (1, 5, True)
    assert set(found["graph"]) == {"vertices", "edges"}
    assert set(found["initial"]) == {"seconds", *BATCH_FIELDS}
    assert [set(batch) for batch in found["batches"]] == [BATCH_FIELDS] * 3
    for batch in found["batches"]:
        assert (batch["inserted"], batch["deleted"], batch["ignored"]) == (4, 4, 0)
        assert list(batch["requests"]) == ["32", "64", "96", "128"]
        assert batch["bytes"] == sum(int(size) * count for size, count in batch["requests"].items())


def test_the_same_seed_gives_the_same_run_but_for_times(record: Callable[..., dict[str, Any]]) -> None:
    def numbers() -> list[dict[str, Any]]:
        found = record("rmat:6:4", "--batches", "2", "--batch-size", "8", "--seed", "3")
        return [
            {name: batch[name] for name in BATCH_FIELDS if "seconds" not in name}
            for batch in found["batches"]
        ]

    assert numbers() == numbers()


@pytest.mark.parametrize("system", ["bounded", "grapin-zc", "grapin-recomp"])
def test_every_system_gives_right_answers(system: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["run", "rmat:6:4", "--batch-size", "8", "--batches", "2", "--system", system, "--verify"]) == 0
    )
    shown = capsys.readouterr().out
    assert f"system {system}" in shown
    assert "Verified" in shown


def test_the_reference_is_a_device_too(record: Callable[..., dict[str, Any]]) -> None:
    found = record("rmat:5:4", "--batch-size", "4", "--batches", "2", "--device", "reference", "--verify")
    assert (found["device"], found["verified"]) == ("reference", True)


def test_a_stream_from_an_empty_graph_is_replayed_with_its_deletions(
    events: str, record: Callable[..., dict[str, Any]]
) -> None:
    found = record("empty", "--updates", events, "--batch-size", "3", "--source", "a", "--verify")
    assert found["graph"] == {"vertices": 5, "edges": 3}
    assert [(batch["inserted"], batch["deleted"]) for batch in found["batches"]] == [(3, 0), (1, 2), (1, 0)]
    assert found["verified"]


def test_a_source_that_is_still_to_come_is_a_vertex_from_the_start(events: str) -> None:
    graph, sources = prepared("empty", updates=events, source="e,c")
    assert graph.labels is not None
    assert [graph.labels.name(vertex) for vertex in sources] == ["e", "c"]
    assert (graph.vertices, graph.edges) == (2, 0)


def test_auto_in_a_graph_without_edges_is_the_vertex_that_will_have_most(events: str, tmp_path: Path) -> None:
    graph, sources = prepared("empty", updates=events)
    assert graph.labels is not None
    # In the end a, c and d have one out-edge each; the first of them by name is taken.
    assert [graph.labels.name(vertex) for vertex in sources] == ["a"]
    more = tmp_path / "more.csv"
    more.write_text("source,target,change,time\n" + EVENTS + "d,a,1,8\n")
    graph, sources = prepared("empty", updates=str(more))
    assert graph.labels is not None
    assert [graph.labels.name(vertex) for vertex in sources] == ["d"]


def test_auto_is_the_vertex_with_most_out_edges() -> None:
    assert prepared("star:5", batch_size=1)[1] == [0]
    reached_by_all = prepared("star:5", batch_size=1, directed=False)
    assert (reached_by_all[1], reached_by_all[0].directed) == ([0], False)


def test_updates_change_a_graph_whose_vertices_have_the_same_names(
    tmp_path: Path, record: Callable[..., dict[str, Any]]
) -> None:
    graph, updates = tmp_path / "graph.csv", tmp_path / "updates.csv"
    graph.write_text("source,target\n10,20\n20,30\n")
    updates.write_text("source,target,change,time\n20,30,-1,1\n10,40,1,2\n")
    found = record(str(graph), "--updates", str(updates), "--batch-size", "2", "--source", "10", "--verify")
    assert found["graph"] == {"vertices": 4, "edges": 2}
    assert [(batch["inserted"], batch["deleted"]) for batch in found["batches"]] == [(1, 1)]


def test_vertices_of_the_graph_keep_their_ids_under_updates_even_without_edges(tmp_path: Path) -> None:
    updates = tmp_path / "updates.csv"
    updates.write_text("source,target,weight\n7,2,5\n")
    graph, sources = prepared("star:5", updates=str(updates), source="3")
    assert graph.vertices == 5
    assert sources == [3]
    assert graph.edges == 4


def test_batches_limits_how_many_updates_are_replayed(
    events: str, record: Callable[..., dict[str, Any]]
) -> None:
    options = ("--updates", events, "--batch-size", "1", "--batches", "2", "--program", "cc", "--verify")
    assert len(record("empty", *options)["batches"]) == 2


def test_weights_are_drawn_by_seed_only_where_a_file_has_none(tmp_path: Path) -> None:
    bare = tmp_path / "bare.csv"
    bare.write_text("source,target\n" + "".join(f"{vertex},{vertex + 1}\n" for vertex in range(50)))
    once, again, otherwise = (weights_of(str(bare), "2:9", seed) for seed in (1, 1, 2))
    assert {2, 9} <= set(once) <= set(range(2, 10))
    assert once == again
    assert once != otherwise
    own = tmp_path / "own.csv"
    own.write_text("source,target,weight\n1,2,7\n2,3,8\n")
    assert weights_of(str(own), "100:100", 0) == weights_of(str(own), "keep", 0)


def test_trace_and_json_are_written_beside_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, record = tmp_path / "trace.npz", tmp_path / "run.json"
    options = ["--batches", "2", "--batch-size", "8", "--trace", str(trace), "--json", str(record)]
    assert main(["run", "rmat:6:4", *options]) == 0
    assert "edges read" in capsys.readouterr().out
    found = json.loads(record.read_text())
    counted = grapin.Trace.load(trace).counters()
    read = [found["initial"]["edges_read"], *(batch["edges_read"] for batch in found["batches"])]
    assert counted.edges == sum(read)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.json", "trace.npz"]


def test_ctrl_c_finishes_the_batch_and_reports_what_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    apply = grapin.Engine.apply

    def interrupted(engine: grapin.Engine, batch: grapin.Batch) -> Any:
        if engine.graph.version == 1 and engine.graph.vertices == 64:  # not what warms up
            signal.raise_signal(signal.SIGINT)
        return apply(engine, batch)

    monkeypatch.setattr(grapin.Engine, "apply", interrupted)
    before = signal.getsignal(signal.SIGINT)
    assert main(["run", "rmat:6:4", "--batches", "5", "--batch-size", "8", "--verify", "--json", "-"]) == 130
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (len(found["batches"]), found["verified"]) == (2, True)
    assert shown.err == "grapin: interrupted after 2 of 5 batches\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_wrong_answer_is_reported_and_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def complain(*_: object) -> None:
        raise WrongAnswer("vertex 3 has 7, expected 5")

    monkeypatch.setattr(session_module, "verify_answer", complain)
    assert main(["run", "rmat:6:4", "--batches", "1", "--batch-size", "8", "--verify", "--json", "-"]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["verified"] is False
    assert shown.err == "grapin: vertex 3 has 7, expected 5\n"


def test_columns_and_ids_say_what_a_file_does_not(
    tmp_path: Path, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wide.txt"
    file.write_text("1 2 x 7\n2 3 x 9\n3 4 x 2\n")
    asked = ["--batches", "1", "--batch-size", "1", "--insertions", "0", "--source", "1", "--json", "-"]
    assert main(["run", str(file), "--columns", "source,target,-,weight", "--ids", "text", *asked]) == 0
    assert json.loads(capsys.readouterr().out)["graph"] == {"vertices": 4, "edges": 2}
    assert main(["run", str(file), *asked]) == 2  # the third column is no weight
    assert "line 1: the weight 'x' must be a number" in capsys.readouterr().err
    assert main(["run", "path:3", *asked, "--columns", "source,target"]) == 2
    assert "--columns source,target must be left out" in capsys.readouterr().err
    columns = ["--columns", "source,target,change,-"]
    assert main(["run", "empty", "--updates", events, *columns, "--source", "a", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["graph"]["edges"] == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-such-file.txt"], "no-such-file.txt must exist"),
        (["empty"], "empty must come with --updates"),
        (["path:1"], "path:1 must have edges to sample from"),
        (["path:9", "--program", "sssq"], "--program sssq must be one of"),
        (["path:9", "--system", "grapin-hot"], "--system grapin-hot must be one of"),
        (["path:9", "--device", "gpu"], "--device gpu must be one of"),
        (["path:9", "--threads", "0"], "--threads 0 must be at least 1"),
        (["path:9", "--batches", "0"], "--batches 0 must be at least 1"),
        (["path:9", "--batch-size", "0"], "--batch-size 0 must be at least 1"),
        (["path:9", "--batch-size", "90"], "must ask for at most 8 edges"),
        (["path:9", "--batch-size", "2", "--batches", "1", "--source", "x"], "--source x must be a vertex"),
        (["path:9", "--batch-size", "2", "--batches", "1", "--source", "9"], "--source 9 must be a vertex"),
        (["path:9", "--weights", "9:1"], "--weights 9:1 must be LOW:HIGH"),
        (["path:9", "--weights", "heavy"], "--weights heavy must be one of"),
        (
            ["path:9", "--updates", "star:4", "--weights", "ignore", "--json", "nowhere/x"],
            "directory that exists",
        ),
        (["path:9", "--trace", "."], ". must be a file that can be written"),
        (["path:9", "--program", "nothing.py:Nothing"], "must name a file that exists"),
    ],
)
def test_a_bad_flag_is_one_sentence_and_nothing_is_written(
    arguments: list[str], sentence: str, refuses: Callable[..., None]
) -> None:
    refuses("run", *arguments, because=sentence)


def test_doctor_names_devices_systems_and_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for name in ("cpu", "reference", "bounded", "grapin-zc", "grapin-recomp", "numba", "what auto takes"):
        assert name in shown


def test_doctor_says_what_to_install_for_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib.metadata import PackageNotFoundError

    from grapin.cli import doctor

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "version", missing)
    assert main(["doctor"]) == 0
    assert "pip install 'grapin[scipy]'" in capsys.readouterr().out


def test_a_real_stream_of_insertions_and_deletions_is_replayed_from_an_empty_graph(
    shared_data: Path, record: Callable[..., dict[str, Any]]
) -> None:
    updates = str(shared_data / "out.wine-includes.zst")
    found = record("empty", "--updates", updates, "--batch-size", "10000", "--source", "auto", "--verify")
    assert found["verified"]
    assert sum(batch["deleted"] for batch in found["batches"]) > 10_000


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("1 2\n2 3\n3 4\n", ["every edge counts 1 for sssp"]),
        (
            "1 2 1500000001\n2 3 1500000002\n3 4 1500000009\n",
            [
                (
                    "The third column was taken for times, because 1500000001 and above are moments since 1970; "
                    "--columns source,target,weight takes it for weights."
                ),
                "every edge counts 1",
            ],
        ),
        ("1 2 7\n2 3 8\n3 4 9\n", ["taken for weights; --columns source,target,time takes it for times."]),
        ("source,target,weight\n1,2,7\n2,3,8\n3,4,9\n", []),
    ],
)
def test_what_a_file_was_taken_for_is_said_where_it_changes_the_question(
    rows: str, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "graph.txt"
    file.write_text(rows)
    assert main(["run", str(file), "--batches", "1", "--batch-size", "1"]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) == len(said)
    assert all(part in note for part, note in zip(said, notes, strict=True))


def test_weights_are_drawn_for_a_generated_graph_whatever_it_would_have() -> None:
    asked = {
        "source": "0",
        "batches": 1,
        "batch_size": 1,
        "insertions": 0.5,
        "updates": None,
        "directed": None,
    }
    for weights, low, high in (("keep", 1, 64), ("500:1000", 500, 1000)):
        start = prepare("rmat:6:4", **asked, weights=weights, seed=0).stream.start  # type: ignore[arg-type]
        assert start is not None
        assert start.weight is not None
        assert low <= start.weight.min()
        assert high >= start.weight.max() > (low + high) / 2


def test_a_value_that_outgrows_its_bits_ends_a_run_with_the_report_of_what_came_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heavy = 2**31 - 1
    (tmp_path / "graph.csv").write_text(f"source,target,weight\n0,1,{heavy}\n1,2,{heavy}\n")
    (tmp_path / "updates.csv").write_text(f"source,target,weight\n0,2,5\n2,3,1\n3,4,{heavy}\n4,5,{heavy}\n")
    asked = ["--updates", str(tmp_path / "updates.csv"), "--batch-size", "1", "--source", "0", "--verify"]
    file = tmp_path / "run.json"
    assert main(["run", str(tmp_path / "graph.csv"), *asked, "--json", str(file)]) == 2
    found = json.loads(file.read_text())
    assert (len(found["batches"]), found["verified"]) == (3, None)
    said = capsys.readouterr().err.splitlines()
    # What tells an overflow from a lighter edge to come is compiled when it is first asked.
    assert [line for line in said if not line.startswith("Compiling for this machine")] == [
        "grapin: batch 4: a value of sssp does not fit into 32 bits: use smaller weights, or float32 ones"
    ]


def test_a_trace_in_place_of_a_graph_is_told_where_it_belongs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = str(tmp_path / "run.npz")
    assert main(["run", "path:9", "--batches", "1", "--batch-size", "1", "--trace", trace]) == 0
    capsys.readouterr()
    assert main(["info", trace]) == 2
    assert (
        "is the trace of a run, not a graph: give it to grapin whatif or compare" in capsys.readouterr().err
    )


def quantities(text: str) -> dict[str, list[str]]:
    """Return the rows of a summary by their names; times and sizes are split from their units."""
    names = (
        "inserted",
        "deleted",
        "ignored",
        "update",
        "compute",
        "changed",
        "edges read",
        "read/edges",
        "to device",
    )
    return {
        name: line.strip().removeprefix(name).split()
        for line in text.splitlines()
        for name in names
        if line.strip().startswith(name + " ")
    }


def test_many_batches_are_summed_up_and_every_row_comes_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["run", "rmat:8:8", "--batches", "100", "--batch-size", "8", "--device", "reference"]
    file = tmp_path / "run.json"
    assert main([*asked, "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    rows = quantities(shown)
    found = json.loads(file.read_text())
    assert len(found["batches"]) == 100
    assert shown.endswith("100 batches; --rows all prints each.\n")
    changed = sorted(batch["changed"] for batch in found["batches"])
    # The rank of a percentile among a hundred is the percentile itself.
    expected = [found["initial"]["changed"], changed[0], changed[49], changed[89], changed[98], changed[99]]
    assert [int(one.replace(",", "")) for one in rows["changed"]] == expected
    assert rows["inserted"] == ["0", "4", "4", "4", "4", "4"]
    assert main([*asked, "--rows", "all"]) == 0
    first = [line.split()[0] for line in capsys.readouterr().out.splitlines() if len(line.split()) > 10]
    assert first[-101:] == ["start", *map(str, range(1, 101))]


def test_a_few_batches_are_rows_unless_a_summary_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", "rmat:6:4", "--batches", "3", "--batch-size", "4", "--device", "reference"]
    assert main(asked) == 0
    assert "p50" not in capsys.readouterr().out
    assert main([*asked, "--rows", "summary"]) == 0
    assert "p50" in capsys.readouterr().out


def test_a_run_without_batches_is_summed_up_too(events: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(events).write_text("source,target,change,time\n")
    asked = ["run", "path:3", "--updates", events, "--weights", "ignore", "--device", "reference"]
    assert main([*asked, "--rows", "summary"]) == 0
    assert "0 batches" in capsys.readouterr().out
