"""What a vertex may start with, and that every device takes and refuses the same."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.cli.main import main
from grapin.device import device
from grapin.engine.verify import verify_answer
from grapin.errors import InvalidArgument, ValueOverflow
from grapin.programs.starting import LARGEST, UNREACHED, source_arrays
from grapin.system import find_system

DEVICES = ("cpu", "cudasim", "reference")


class Reliable(grapin.Monotone):
    """Values are floats whatever the weights are, and larger ones are better."""

    name = "reliable"
    values = "float"
    better = "larger"
    source_value = 1.0
    weighted = False

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        return value * 0.5


KINDS: list[Any] = [grapin.BFS, grapin.SSSP, grapin.SSWP, Reliable]
NUMBERS = [
    0,
    1,
    3,
    2**24,
    2**24 + 1,
    2**31,
    LARGEST - 1,
    LARGEST,
    LARGEST + 1,
    2**40,
    UNREACHED,
    10**40,
    -1,
    -5,
]
REALS = [
    0.0,
    -0.0,
    0.5,
    1.5,
    3.0,
    2.0**24 + 1,
    3.4e38,
    1e39,
    1e-50,
    1e300,
    -0.5,
    *map(float, ("inf", "-inf", "nan")),
]
OTHERS = [None, "3", b"3", True, np.bool_(True), 1j, [1], np.array(3), np.array([3])]


def a_graph(weights: str) -> grapin.Graph:
    """Return a path of four vertices with a short cut."""
    column = None if weights == "none" else np.array([3, 4, 5, 9], weights)
    return grapin.Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], column, weights=weights)


def said(kind: Any, value: Any, weights: str, name: str) -> Any:
    """Return the values of an engine, or the sentence with which it is refused."""
    try:
        return grapin.Engine(a_graph(weights), kind({0: value, 2: 7}), device=name).values.tolist()
    except (InvalidArgument, ValueOverflow) as error:
        return f"{type(error).__name__}: {error}"


def is_legal(kind: Any, value: Any, weights: str) -> bool:
    """Say by the words of the documentation, apart from the code, which starting values there are."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    real = kind.values == "float" or (kind.values == "weight" and weights == "float32")
    number = value.item() if isinstance(value, np.generic) else value
    if kind.better == "larger" and number == float("inf"):
        return True
    if not 0 <= number < float("inf"):
        return False
    if not real:
        if kind.better == "larger" and number == UNREACHED:
            return True
        return number == int(number) and (
            1 <= number < LARGEST if kind.better == "larger" else number <= LARGEST
        )
    if number > float(np.finfo(np.float32).max):
        return False
    stored = float(np.float32(number))
    counted = isinstance(number, int) or (number < 2**53 and number == int(number))
    return not (counted and stored != number) and (stored > 0 or kind.better == "smaller")


@pytest.mark.parametrize("weights", ["none", "int32", "float32"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_device_takes_and_refuses_the_same_starting_values(kind: Any, weights: str) -> None:
    whole = a_graph(weights)
    for value in [*NUMBERS, *REALS, *OTHERS]:
        answers = {name: said(kind, value, weights, name) for name in ("cpu", "reference")}
        if not is_legal(kind, value, weights):
            assert str(answers["cpu"]).startswith("InvalidArgument: source[0]="), (value, answers)
            assert " must be " in answers["cpu"]
            assert answers["cpu"] == answers["reference"]
        elif str(answers["cpu"]).startswith("ValueOverflow"):
            assert max(answers["reference"]) > LARGEST, value
        else:
            assert answers["cpu"] == answers["reference"], value
            engine = grapin.Engine(whole, kind({0: value, 2: 7}), device="cpu")
            verify_answer(engine.answers[0], whole)


@pytest.mark.parametrize("weights", ["int32", "float32"])
@pytest.mark.parametrize("kind", [grapin.SSSP, grapin.SSWP], ids=lambda kind: kind.name)
def test_the_simulated_gpu_takes_and_refuses_them_too(kind: Any, weights: str) -> None:
    for value in (5, 2**24 + 1, LARGEST - 2, 1.5, 2**40, -5, "3"):
        assert said(kind, value, weights, "cudasim") == said(kind, value, weights, "cpu"), value


@given(
    st.sampled_from(KINDS),
    st.one_of(
        st.integers(-9, 2**34), st.floats(), st.floats(0, 9, width=32), st.sampled_from(NUMBERS + REALS)
    ),
    st.sampled_from(["none", "int32", "float32"]),
)
def test_a_value_is_kept_as_it_is_or_refused_by_all_queries_alike(
    kind: Any, value: float, weights: str
) -> None:
    """Queries are made without an engine, as a device of one's own may be, and none relies on being called by it."""
    dtype = None if weights == "none" else np.dtype(weights)
    system = find_system("grapin-recomp")

    def sentence(name: str) -> str:
        try:
            program = kind({4: value})
            device(name).query(program, system, weight_dtype=dtype, directed=True, threads=1)
        except InvalidArgument as error:
            return str(error)
        return ""

    sentences = {sentence(name) for name in DEVICES}
    assert len(sentences) == 1
    assert (sentences == {""}) == is_legal(kind, value, weights)
    assert sentences == {""} or sentences.pop().startswith(f"source[4]={value!r} must be ")
    if is_legal(kind, value, weights):
        real = kind.values == "float" or (kind.values == "weight" and weights == "float32")
        (vertex,), (kept,) = source_arrays(kind({4: value}), real=real)
        assert vertex == 4
        assert kept == (np.float32(value) if real else (float("inf") if value == UNREACHED else value))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({0: -5, 1: 3}, r"source\[0\]=-5 must be a number from 0 to 3\.4e\+38"),
        ({1: float("nan")}, r"source\[1\]=nan must be a number from 0 to 3\.4e\+38"),
        ({1: None}, r"source\[1\]=None must be a number"),
        ([], r"source=\[\] must hold at least one vertex"),
        ({}, r"source={} must hold at least one vertex"),
        (np.array([], np.int32), r"source=array\(.*\) must hold at least one vertex"),
        ("35", r"source='35' must be a vertex, several, or a mapping from vertex to starting value"),
        (b"35", r"source=b'35' must be a vertex, several, or a mapping"),
        (1.5, r"source=1\.5 must be a whole number"),
        ([1, "2"], r"source='2' must be a whole number"),
        ([[1, 2]], r"source=\[1, 2\] must be a whole number"),
        (np.array([[1, 2]]), r"source=array\(\[1, 2\]\) must be a whole number"),
        (2**40, r"source=1099511627776 must be at most"),
        (-1, r"source=-1 must be at least 0"),
    ],
)
def test_sources_that_are_none_are_refused_in_a_true_sentence(given: Any, sentence: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{sentence}"):
        grapin.SSSP(given)


def test_sources_may_be_any_array_or_iterable_of_whole_numbers() -> None:
    every: list[Any] = [np.array([3, 1]), (one for one in (3, 1)), {3, 1}, np.array(3), np.int64(3)]
    for given_sources in every:
        assert set(grapin.BFS(given_sources).sources) <= {1, 3}


def test_a_class_whose_source_value_is_no_value_is_refused_by_its_own_name() -> None:
    widest = type("Widest", (grapin.SSWP,), {"source_value": 0})
    with pytest.raises(InvalidArgument, match=r"Widest\.source_value=0 must be a number from 1\.4e-45"):
        widest(0)
    assert widest({0: 5}).sources == {0: 5}


@pytest.mark.parametrize("name", DEVICES)
def test_a_negative_zero_is_zero_whether_it_is_given_or_offered(name: str) -> None:
    class Signed(grapin.Monotone):
        name = "signed"
        values = "float"

        @staticmethod
        def edge(value: Any, weight: Any) -> Any:
            return value * -1.0 if value == 0 and weight == 0 else value + weight

    graph = grapin.Graph.from_edges([0, 1, 3], [1, 2, 2], np.array([0, 0, 5], np.float32))
    for start in (0.0, -0.0):
        values = grapin.Engine(graph, Signed({0: start, 3: 0}), device=name).values
        assert values.tolist() == [0, 0, 0, 0]


def test_a_program_shows_the_values_that_it_starts_with_where_they_are_not_the_usual_ones() -> None:
    assert repr(grapin.SSSP({0: 5, 3: 0})) == "SSSP(source={0: 5, 3: 0})"
    assert repr(grapin.SSSP({0: 0, 3: 0})) == "SSSP(source=[0, 3])"
    assert repr(grapin.SSWP(4)) == "SSWP(source=4)"


def test_a_value_that_is_put_in_later_is_checked_when_an_engine_takes_the_program() -> None:
    program = grapin.BFS({0: 1})
    program.sources[0] = -1
    for name in DEVICES:
        with pytest.raises(
            InvalidArgument, match=r"source\[0\]=-1 must be a whole number from 0 to 4294967294"
        ):
            grapin.Engine(a_graph("none"), program, device=name)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("auto,1", "--source auto,1 must be auto alone, or vertices between commas"),
        ("1,,2", "--source '' must be a vertex of the graph, or auto"),
        ("1_0", "--source 1_0 must be a vertex of the graph, or auto"),
        ("-1", "--source -1 must be at least 0"),
    ],
)
def test_the_command_line_refuses_sources_that_it_cannot_mean(
    source: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "path:40", "--batches", "1", "--batch-size", "2", "--source", source]) == 2
    assert sentence in capsys.readouterr().err


def test_a_name_in_a_file_may_be_auto_where_it_stands_with_others(tmp_path: Any) -> None:
    file = tmp_path / "names.csv"
    file.write_text("source,target\n" + "auto,one\none,two\ntwo,three\n" * 3)
    assert main(["run", str(file), "--batches", "1", "--batch-size", "1", "--source", "auto,two"]) == 0
