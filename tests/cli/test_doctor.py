"""`grapin doctor` says what is here, tests devices, and fails with a sentence where a device cannot be had."""

import re

import pytest

from grapin.cli.main import main
from grapin.device import DEVICES, device
from grapin.engine import selftest as module
from grapin.engine.answer import Answer
from grapin.engine.selftest import KINDS, PROGRAMS, Trial, hub_graph, next_batch, selftest
from grapin.errors import WrongAnswer
from grapin.graph import Graph
from grapin.programs import PageRank
from grapin.random import Draws
from grapin.system import RUNNABLE


def test_doctor_lists_devices_systems_and_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for name in (*DEVICES, *RUNNABLE, "numpy", "numba-cuda"):
        assert re.search(rf"^\s*{name}\b", shown, re.MULTILINE), name


@pytest.mark.skipif(device("cuda").unavailable() is None, reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_one_sentence_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--device", "cuda"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("grapin: --device cuda cannot be used here: ")
    assert shown.err.count("\n") == 1


@pytest.mark.skipif(device("cuda").unavailable() is not None, reason="there is no GPU here")
def test_a_gpu_passes_its_self_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--device", "cuda"]) == 0
    assert "pinned memory to GPU" in capsys.readouterr().out


def test_the_simulated_gpu_passes_a_part_of_its_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    # A finer rank takes the same steps more often, and nearly all of the time.
    monkeypatch.setitem(PROGRAMS, "pagerank", PageRank(tolerance=1e-2))
    for trial in selftest("cudasim", scale=3, systems=("bounded", "grapin-zc"), kinds=("directed",)):
        assert trial.wrong is None, trial


@pytest.mark.deep
@pytest.mark.parametrize("name", ["cpu", "cudasim"])
def test_a_device_passes_its_whole_self_test(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--device", name]) == 0
    trials = len(KINDS) * len(PROGRAMS) * (len(RUNNABLE) + 2)  # two of them keep copies
    assert f"{trials} of {trials} trials gave the reference's answer" in capsys.readouterr().out


def test_a_wrong_value_is_reported_with_its_program_and_system_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(answer: Answer, graph: Graph) -> None:
        if graph.version == 1 and answer.program.name == "sswp":
            raise WrongAnswer("vertex 3 has value 7, expected 5")

    monkeypatch.setattr(module, "verify_answer", judge)
    assert main(["doctor", "--device", "reference", "--scale", "3"]) == 1
    shown = capsys.readouterr().out
    assert "wrong: sswp on the directed graph under bounded: vertex 3 has value 7, expected 5" in shown
    trials = len(KINDS) * len(PROGRAMS) * len(RUNNABLE)
    assert f"{trials - trials // len(PROGRAMS)} of {trials} trials" in shown


def test_a_device_that_fails_does_not_end_the_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")

    monkeypatch.setattr(module, "Engine", fail)
    trials: list[Trial] = list(selftest("cpu", scale=3))
    assert {trial.wrong for trial in trials} == {"RuntimeError: CUDA_ERROR_ILLEGAL_ADDRESS"}
    assert len(trials) == len(KINDS) * len(PROGRAMS) * (len(RUNNABLE) + 2)  # two of them keep copies


@pytest.mark.parametrize("kind", KINDS)
def test_the_self_tests_batches_change_everything_that_can_change(kind: str) -> None:
    graph = hub_graph(kind, 6, seed=0)
    assert graph.out_degree(0) == 2**6 - 1
    applied = graph.apply(next_batch(graph, Draws(0, "batches"), vertices=True))
    for part in ("inserted", "deleted", "reweighted", "inserted_vertices", "deleted_vertices"):
        assert len(getattr(applied, part)), part
    assert applied.ignored == 0
