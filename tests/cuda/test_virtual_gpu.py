"""What users see of the virtual GPU: its interleavings by number, its requests beside the model's, races it finds."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import grapin
import grapin.testing.case
from grapin.cli.main import main
from grapin.counters import REQUEST_SIZES
from grapin.device import open_device
from grapin.errors import DeviceUnavailable, InvalidArgument
from grapin.kernels.cuda.assembly import missing
from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.vgpu import device
from grapin.kernels.cuda.vgpu.backend import VirtualBackend
from grapin.testing.case import Case, Setup, Verdict

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")

SMALL = ("rmat:8:8", "--batches", "2", "--batch-size", "40", "--program", "sssp")


def test_lanes_ask_for_what_the_model_predicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["compare", *SMALL, "--device", "vgpu", "--system", "bounded,grapin-page", "--json", "-"]) == 0
    )
    zero_copy, unified = json.loads(capsys.readouterr().out)["runs"]
    rows = {(row["source"], row["kind"]): row for row in zero_copy["kinds"]}
    for kind in (*(f"requests of {size} bytes" for size in REQUEST_SIZES), "sectors read"):
        assert rows["executed, behind L1", kind]["error"] == 0
        assert rows["executed, behind L2", kind]["measured"] <= rows["executed, behind L1", kind]["measured"]
    assert rows["executed, behind L1", "sectors read"]["measured"] > 0
    (pages,) = (row for row in unified["kinds"] if row["source"] == "executed")
    assert pages["kind"] == "distinct pages"
    assert pages["measured"] == pages["predicted"] > 0


@pytest.mark.parametrize("command", ["run", "compare"])
def test_what_it_is_not_is_said(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, *SMALL, "--device", "vgpu"]) == 0
    assert "It is no GPU, and says nothing of time." in capsys.readouterr().out


def steps_of(number: int) -> tuple[list[int], list[int]]:
    """Return the values of a run under an interleaving, and how many steps each of its launches took."""
    steps: list[int] = []

    def watch(launched: Any) -> None:
        steps.append(launched.steps)

    device.backend().watchers.append(watch)
    graph = grapin.Graph.from_edges([0, 0, 1, 2, 3] * 8, list(range(40)), [5, 3, 1, 2, 4] * 8)
    engine = grapin.Engine(graph, grapin.SSSP(0), device=f"vgpu:{number}")
    engine.apply(grapin.Batch(insert=[(4, 0, 1)], delete=[(0, 1)]))
    device.backend().watchers.remove(watch)
    return engine.values.tolist(), steps


def test_a_number_is_one_interleaving_and_another_number_another() -> None:
    runs = [steps_of(number) for number in (0, 3, 3, 5)]
    assert runs[1] == runs[2]
    assert len({tuple(steps) for _, steps in runs}) > 1
    assert all(values == runs[0][0] for values, _ in runs)


def test_weights_that_are_floats_compile_without_a_driver() -> None:
    graph = grapin.Graph.from_edges([0, 1, 2], [1, 2, 3], [1.0, 2.0, 1.5])
    assert grapin.Engine(graph, grapin.SSSP(0), device="vgpu").values.tolist() == [0.0, 1.0, 3.0, 4.5]


@pytest.mark.parametrize("setting", ["", "-1", "many", str(2**32)])
def test_an_interleaving_that_is_no_number_is_refused(setting: str) -> None:
    with pytest.raises(InvalidArgument, match=f"device='vgpu:{setting}' must name an interleaving from 0 to"):
        open_device(f"vgpu:{setting}")


def test_check_prints_a_script_of_the_interleaving_that_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong_under_the_fourth(setup: Setup, case: Case) -> Verdict:
        wrong = setup.device == "vgpu:4" and len(case.edges) > 1
        return Verdict("WrongAnswer: vertex 0 has 1, expected 0", setup.device) if wrong else Verdict()

    monkeypatch.setattr(grapin.testing.case, "_judge", wrong_under_the_fourth)
    script = tmp_path / "race.py"
    options = ["--device", "vgpu", "--program", "sssp", "--processes", "1", "--out", str(script)]
    assert main(["check", *options, "--interleavings", "3", "--examples", "30"]) == 0
    assert main(["check", *options, "--interleavings", "10", "--examples", "30"]) == 1
    assert "sssp on vgpu:4 under bounded: example" in capsys.readouterr().out
    text = script.read_text()
    assert 'device="vgpu:4"' in text
    (columns,) = re.findall(r"source=\[(.*?)\]", text)
    assert columns.count(",") == 1  # of two edges, as few as fail


def unheard_of(array: Any) -> None:
    """Ask for what no GPU has."""
    array[0] = sorted({1: 2}.items())


def test_a_kernel_that_does_not_compile_is_refused_in_a_sentence() -> None:
    mine = VirtualBackend(shape=Shape(1, 32))
    with pytest.raises(InvalidArgument, match=r"^unheard_of_test must compile for CUDA: \S") as error:
        mine.launch(mine.kernel(unheard_of, "test"), mine.full(32, 0, "int32"))
    assert "\n" not in str(error.value)


def test_without_the_compiler_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "missing", lambda: "it is missing: pip install 'grapin[vgpu]'")
    with pytest.raises(
        DeviceUnavailable, match=r"device='vgpu:7' cannot be used here: .*pip install 'grapin\[vgpu\]'"
    ):
        open_device("vgpu:7")
