"""What-if predicts every combination from a trace or a graph, and writes all it was asked for or nothing."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import grapin
from grapin import display
from grapin.cli import whatif
from grapin.cli.main import main
from grapin.sim import replay
from grapin.sim.families import too_large

pytestmark = pytest.mark.usefixtures("compiled_already")

SMALL = ("rmat:6:4", "--batches", "2", "--batch-size", "8", "--threads", "1")


@pytest.fixture
def predictions(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Predict and return the JSON object that was printed."""

    def predict(*arguments: str) -> dict[str, Any]:
        assert main(["whatif", *arguments, "--json", "-"]) == 0
        printed: dict[str, Any] = json.loads(capsys.readouterr().out)
        return printed

    return predict


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """A trace of the published repair."""
    file = tmp_path / "trace.npz"
    assert (
        main(["run", *SMALL, "--system", "grapin-zc", "--trace", str(file), "--json", str(tmp_path / "x")])
        == 0
    )
    return str(file)


def test_a_graph_is_run_once_a_repair_and_combinations_come_in_the_order_asked(
    predictions: Callable[..., dict[str, Any]],
) -> None:
    found = predictions(*SMALL, "--machine", "h100,a5000", "--system", "grapin,bounded", "--cache", "10%,1K")
    assert set(found["traces"]) == {"published", "bounded"}
    asked = [(one["machine"], one["system"], one["cache"].split()[0]) for one in found["predictions"]]
    pairs = [
        ("grapin", "published"),
        ("grapin", "published"),
        ("bounded", "adaptive"),
        ("bounded", "adaptive"),
    ]
    assert asked == [(machine, *pair) for machine in ("h100", "a5000") for pair in pairs]
    assert all(len(one["phases"]) == 3 for one in found["predictions"])


def test_a_saved_trace_is_predicted_as_by_the_library(
    saved: str, predictions: Callable[..., dict[str, Any]]
) -> None:
    found = predictions(saved, "--system", "grapin-zc,grapin", "--set", "link.generation=3,5")
    trace = grapin.Trace.load(saved)
    machines = [one["machine"] for one in found["predictions"]]
    assert machines == ["a5000+link.generation=3"] * 2 + ["a5000+link.generation=5"] * 2
    alone = replay(trace, "grapin-zc", "a5000")
    assert [one["bytes"] for one in found["predictions"]] == [alone.total.bytes] * 4
    assert found["predictions"][0]["seconds"] > alone.seconds


def test_a_table_a_plot_and_a_timeline(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    figure, timeline = tmp_path / "figure.svg", tmp_path / "timeline.json"
    options = ["--system", "grapin-zc", "--plot", str(figure), "--timeline", str(timeline)]
    capsys.readouterr()
    assert main(["whatif", saved, *options]) == 0
    shown = capsys.readouterr().out
    assert "128 B" in shown
    assert "a5000" in shown
    assert "<svg" in figure.read_text()
    assert json.loads(timeline.read_text())["traceEvents"]
    assert not list(tmp_path.glob("*.part*"))


def test_a_larger_graph_is_predicted_from_smaller_ones_with_the_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record = tmp_path / "found.json"
    options = [*SMALL[1:], "--from", "rmat:4..7", "--json", str(record)]
    assert main(["whatif", "rmat:9:4", *options]) == 0
    shown = capsys.readouterr().out
    assert "Extrapolated from 4 sizes, 2.0 doublings beyond the largest" in shown
    found = json.loads(record.read_text())
    assert found["extrapolated"][0]["sizes"] == [64, 128, 256, 512]
    assert found["predictions"][0]["bytes"] > 0


@pytest.mark.parametrize("smaller", ["rmat:12..15", "rmat:5..7"])
def test_a_graph_too_far_beyond_what_is_run_is_refused_before_anything_runs(
    smaller: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grapin.cli.whatif.record", lambda *_, **__: pytest.fail("something was run"))
    assert main(["whatif", "rmat:30:16", "--from", smaller]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("grapin: size")
    assert len(shown.strip().splitlines()) == 1


def test_rows_that_are_not_believed_are_left_out_with_the_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record = tmp_path / "found.json"
    options = ["--batches", "2", "--batch-size", "8", "--threads", "1", "--set", "gpu.memory=2M"]
    options += ["--from", "rmat:4..7", "--json", str(record), "--system"]
    assert main(["whatif", "rmat:10:16", *options, "grapin-zc,grapin-page"]) == 0
    shown = capsys.readouterr().out
    found = json.loads(record.read_text())
    assert [one["system"] for one in found["predictions"]] == ["grapin-zc"]
    (refused,) = found["refused"]
    assert refused["system"] == "grapin-page"
    assert "bytes may be off by" in refused["reason"]
    assert "grapin-page on a5000+gpu.memory=2M is not predicted: its bytes may be off" in shown
    assert main(["whatif", "rmat:10:16", *options, "grapin-page"]) == 2
    assert "must be one that can be predicted" in capsys.readouterr().err


def test_unified_memory_that_thrashes_is_flagged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record = tmp_path / "found.json"
    options = ["--batches", "1", "--threads", "1", "--system", "grapin-zc,grapin-page", "--json", str(record)]
    assert main(["whatif", "rmat:13:16", *options, "--set", "gpu.memory=2M,1G"]) == 0
    shown = capsys.readouterr().out
    assert "grapin-page on a5000+gpu.memory=2M thrashes: " in shown
    flagged = {
        (one["system"], one["machine"][-2:]): one["thrashing"]
        for one in json.loads(record.read_text())["predictions"]
    }
    assert flagged == {
        ("grapin-zc", "2M"): False,
        ("grapin-page", "2M"): True,
        ("grapin-zc", "1G"): False,
        ("grapin-page", "1G"): False,
    }


def test_degrees_stand_for_a_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    degrees = tmp_path / "degrees.txt"
    degrees.write_text("\n".join(str(3 + number % 9) for number in range(400)))
    assert main(["whatif", f"degrees:{degrees}", *SMALL[1:]]) == 0
    assert "extrapolated" in capsys.readouterr().out


def test_what_does_not_fit_into_memory_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert too_large("rmat:30:2")
    assert not too_large("rmat:10:16")
    assert not too_large("graph.txt")
    asked: list[tuple[Any, ...]] = []

    def predict_nothing(*given: Any) -> list[Any]:
        asked.append(given)
        return []

    monkeypatch.setattr(whatif, "predict_family", predict_nothing)
    monkeypatch.setattr(whatif, "believed", lambda _graph, found: found)
    monkeypatch.setattr(whatif, "error_lines", lambda _found: [])
    assert main(["whatif", "rmat:30:2"]) == 0
    assert asked[0][0] == "rmat:30:2"


def test_numbers_that_nobody_published_are_named_under_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["whatif", "path:9", "--batches", "1", "--batch-size", "1"]
    assert main(asked) == 0
    assert "gpu.launch (6.7 us)" in capsys.readouterr().out.splitlines()[-1]
    assert main([*asked, "--set", "gpu.launch=2us"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Without a source, for a5000+gpu.launch=2us: ")
    assert "gpu.launch (" not in last


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-such-file.txt"], "no-such-file.txt must exist"),
        (["path:9", "--system", "emogy"], "did you mean 'emogi'?"),
        (["path:9", "--machine", "a500"], "did you mean 'a5000'?"),
        (["path:9", "--cache", "lots"], "--cache lots must be"),
        (["path:9", "--set", "link.generation"], "must be NUMBER=VALUE"),
        (["path:9", "--set", "link.generation=9"], "link.generation=9 must be one of"),
        (["path:9", "--processes", "0"], "--processes 0 must be at least 1"),
        (["path:9", "--batches", "0"], "--batches 0 must be at least 1"),
        (["path:9", "--json", "nowhere/x"], "directory that exists"),
        (["path:9", "--plot", "figure.doc"], "--plot figure.doc must end in"),
        (["path:9", "--timeline", "x", "--system", "bounded,grapin"], "with one combination, not 2"),
        (["rmat:9", "--from", "star:4"], "smaller graphs of the family"),
        (["degrees:none.txt"], "there is no such file"),
    ],
)
def test_a_bad_flag_is_one_sentence_and_nothing_is_written(
    arguments: list[str], sentence: str, refuses: Callable[..., None]
) -> None:
    refuses("whatif", *arguments, because=sentence)


def test_a_trace_of_another_repair_is_refused_with_the_run_to_record(
    saved: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["whatif", saved, "--system", "bounded"]) == 2
    assert "grapin run --system bounded --trace FILE" in capsys.readouterr().err


def test_without_matplotlib_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(display, "find_spec", lambda _name: None)
    assert main(["whatif", "path:9", "--plot", "figure.svg"]) == 2
    assert "pip install 'grapin[plot]'" in capsys.readouterr().err


def test_ctrl_c_leaves_nothing_behind(
    saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(whatif, "sweep", interrupted)
    capsys.readouterr()
    assert main(["whatif", saved, "--system", "grapin-zc", "--json", str(tmp_path / "found.json")]) == 130
    assert capsys.readouterr().err.strip() == "grapin: interrupted"
    assert not (tmp_path / "found.json").exists()


def test_options_that_say_what_to_run_are_refused_with_a_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = str(tmp_path / "run.npz")
    assert main(["run", "path:9", "--batches", "1", "--batch-size", "1", "--trace", trace]) == 0
    assert main(["whatif", trace]) == 0
    capsys.readouterr()
    for command in ("whatif", "compare"):
        assert main([command, trace, "--program", "bfs"]) == 2
        assert capsys.readouterr().err == (
            f"grapin: --program must be left out: {trace} is the trace of a run that was\n"
        )


def test_what_is_recorded_for_a_prediction_is_the_schedule_of_a_gpu_as_wide_as_the_machine(
    tmp_path: Path,
) -> None:
    record = tmp_path / "found.json"

    def device(machines: str) -> str:
        options = ["--batches", "1", "--machine", machines, "--json", str(record)]
        assert main(["whatif", "rmat:6:4", *options]) == 0
        found: str = json.loads(record.read_text())["traces"]["bounded"]["device"]
        return found

    assert device("h100") == "onelane:132"
    assert device("a5000") == "onelane"
    assert device("a5000,h100") == "onelane"


def test_a_prediction_in_another_order_than_the_released_programs_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = {}
    for system in ("emogi", "emogi-released"):
        assert main(["whatif", "rmat:6:4", "--system", system, "--batches", "1"]) == 0
        told[system] = " ".join(capsys.readouterr().out.split())
    assert "emogi-released: predicted from lists in our layout" in told["emogi-released"]
    assert "in our layout" not in told["emogi"]
