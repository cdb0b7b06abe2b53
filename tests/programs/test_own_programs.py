import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.cli.main import main
from grapin.engine.verify import verify_answer
from grapin.errors import InvalidArgument
from grapin.programs import BFS, SSSP, SSWP, ConnectedComponents, find_program
from grapin.testing import MutationStream, mutation_streams
from grapin.testing.monotone import check_monotone

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "most_reliable_path.py"


class Improving(grapin.Monotone):
    name = "improving"

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        return value - weight


class Reversing(grapin.Monotone):
    name = "reversing"

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        return value + 1000 // (value + 1)


class Uncompilable(grapin.Monotone):
    name = "uncompilable"

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        return value + int(str(weight).replace("0", "1"))


class Supply(grapin.Monotone):
    """What is left of an infinite supply behind tolls."""

    name = "supply"
    better = "larger"
    source_value = float("inf")

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        return max(value - weight, 0)


def a_graph() -> grapin.Graph:
    return grapin.Graph.from_edges([0, 1], [1, 2], [3, 4])


def test_the_documented_example_gives_the_most_reliable_path() -> None:
    program = find_program(f"{EXAMPLE}:MostReliablePath")
    graph = grapin.Graph.from_edges([0, 0, 1], [1, 2, 2], np.array([0.5, 0.3, 0.9], np.float32))
    engine = grapin.Engine(graph, program(0))  # type: ignore[call-arg]  # found by name, so mypy cannot know
    assert engine.values.tolist() == pytest.approx([1.0, 0.5, 0.45])
    engine.apply(grapin.Batch(delete=[(1, 2)]))
    assert engine.values.tolist() == pytest.approx([1.0, 0.5, 0.3])
    assert engine.path(2) == [0, 2]


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_rule_for_whole_numbers_sees_infinity_as_the_largest_of_them_on_every_device(device: str) -> None:
    graph = grapin.Graph.from_edges([0, 1, 2], [1, 2, 3], [0, 2, 5])
    engine = grapin.Engine(graph, Supply(0), device=device)
    infinite, largest = 2**63 - 1, 2**32 - 2
    assert engine.values.tolist() == [infinite, infinite, largest - 2, largest - 7]


def test_the_documented_example_runs_from_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = tmp_path / "links.csv"
    rows.write_text(
        "source,target,weight\n" + "".join(f"{i},{i + 1},0.9\n{i},{i + 2},0.7\n" for i in range(40))
    )
    arguments = [
        "run",
        str(rows),
        "--program",
        f"{EXAMPLE}:MostReliablePath",
        "--batches",
        "3",
        "--batch-size",
        "4",
    ]
    assert main([*arguments, "--source", "0", "--verify"]) == 0
    assert "Verified" in capsys.readouterr().out


def test_the_documented_example_runs_again_from_machine_code_on_disk(tmp_path: Path) -> None:
    rows = tmp_path / "links.csv"
    rows.write_text("source,target,weight\n0,1,0.5\n1,2,0.5\n")
    arguments = [
        "run",
        str(rows),
        "--program",
        f"{EXAMPLE}:MostReliablePath",
        "--source",
        "0",
        "--batch-size",
        "1",
    ]
    for _ in range(2):
        command = [sys.executable, "-m", "grapin", *arguments, "--batches", "1", "--verify"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@given(mutation_streams(weights="float32", max_batches=3))
def test_a_program_of_the_users_own_stays_right_under_any_stream(stream: MutationStream) -> None:
    class Bottleneck(grapin.Monotone):
        name = "bottleneck"
        values = "float"

        @staticmethod
        def edge(value: Any, weight: Any) -> Any:
            return max(value, weight)

    graph = grapin.Graph.from_edges(**stream.start)
    if not graph.has_vertex(0):
        return
    engine = grapin.Engine(graph, Bottleneck(0))
    for batch in stream.batches:
        engine.apply(batch)
        verify_answer(engine.answers[0], graph)


@pytest.mark.parametrize("program", [BFS(0), SSSP(0), SSWP(0), ConnectedComponents()], ids=lambda p: p.name)
def test_the_programs_that_come_with_grapin_are_monotone(program: grapin.Monotone) -> None:
    check_monotone(program)


@pytest.mark.parametrize(
    ("program", "reason"), [(Improving(0), "must not improve"), (Reversing(0), "must keep order")]
)
def test_a_program_that_is_not_monotone_is_refused_with_a_counterexample(
    program: grapin.Monotone, reason: str
) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        grapin.Engine(a_graph(), program)
    with pytest.raises(InvalidArgument, match=reason):
        check_monotone(program, weights=st.integers(1, 10))


@pytest.mark.parametrize(("name", "value"), [("better", "smallest"), ("values", "double")])
def test_a_choice_that_there_is_not_is_refused_rather_than_taken_for_another(name: str, value: str) -> None:
    misspelt = type("Misspelt", (SSSP,), {name: value})
    with pytest.raises(InvalidArgument, match=rf"Misspelt\.{name}='{value}' must be one of"):
        misspelt(0)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"value": "float"}, r"Mine\.value must .*did you mean 'values'\?"),
        ({"bettr": "larger"}, r"Mine\.bettr must .*did you mean 'better'\?"),
        ({"weigthed": False}, r"Mine\.weigthed must .*did you mean 'weighted'\?"),
        ({"Better": "larger"}, r"Mine\.Better must .*did you mean 'better'\?"),
        ({"name": ""}, r"Mine\.name must be given: how reports call it"),
        ({"both_ways": "no"}, r"Mine\.both_ways='no' must be True or False"),
        ({"edge": SSSP.edge}, r"Mine\.edge must be a static method of value and weight"),
        ({"edge": staticmethod(min)}, r"Mine\.edge must be a static method of value and weight"),
    ],
)
def test_a_class_that_says_something_in_the_wrong_words_is_refused(
    attributes: dict[str, Any], reason: str
) -> None:
    kind = type("Mine", (SSSP,), attributes)
    with pytest.raises(InvalidArgument, match=reason):
        kind(0)


def test_a_misspelt_attribute_of_a_class_between_is_found_too() -> None:
    between = type("Between", (SSSP,), {"sorce_value": 3})
    with pytest.raises(InvalidArgument, match=r"Mine\.sorce_value must .*did you mean 'source_value'\?"):
        type("Mine", (between,), {})(0)


def test_attributes_of_ones_own_are_nobody_s_business() -> None:
    own = {"_values": 1, "limit": 5, "LARGEST": 7, "describe": lambda _self: "mine", "__slots__": ()}
    assert type("Mine", (SSSP,), own)(0).name == "sssp"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("edge = staticmethod(lambda value, weight: value)", "Mine.name must be given"),
        ("name = 'mine'", "Mine.edge must be given: a static method edge(value, weight)"),
        ("name = 'mine'; edge = staticmethod(lambda value, weight: 'x')", "is 'x'"),
        ("name = 'mine'; edge = staticmethod(lambda value, weight: None)", "must return a number"),
        ("name = 'mine'; edge = lambda self, value, weight: value", "must be a static method"),
    ],
)
def test_what_a_class_lacks_is_one_sentence_and_exit_code_2(
    body: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(f"import grapin\nclass Mine(grapin.Monotone):\n    {body}\n")
    arguments = ["--program", f"{tmp_path}/mine.py:Mine", "--source", "0"]
    assert main(["run", "rmat:5", *arguments, "--batches", "1", "--batch-size", "2"]) == 2
    shown = capsys.readouterr().err
    assert reason in shown
    assert "Mine." in shown
    assert shown.count("\n") == 1


def test_a_rule_that_does_not_compile_is_refused_with_the_reason() -> None:
    with pytest.raises(
        InvalidArgument, match=r"Uncompilable.edge must compile: .*<class 'str'>.*str\(int64\)"
    ):
        grapin.Engine(a_graph(), Uncompilable(0))


def test_a_rule_that_does_not_compile_still_runs_on_the_reference() -> None:
    engine = grapin.Engine(a_graph(), Uncompilable(0), device="reference")
    assert engine.values.tolist() == [0, 3, 7]


@pytest.mark.parametrize("name", ["nothing.py:Nothing", f"{EXAMPLE}:Nothing", "ssp"])
def test_a_program_that_cannot_be_found_is_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidArgument, match="program="):
        find_program(name)
