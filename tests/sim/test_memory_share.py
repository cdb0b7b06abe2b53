"""A GPU's memory as a part of the edges: what only the graph says in bytes."""

import pytest

import grapin
from grapin.errors import InvalidArgument
from grapin.sim import replay
from grapin.sim.extrapolate import scaled
from grapin.sim.predict import combine, edge_bytes, memory_settings, sweep
from grapin.trace import Trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    """One batch on a graph whose edges take 8 MiB and more, so that a third of them is more than one block."""
    graph = grapin.load("rmat:16:24")
    engine = grapin.Engine(graph, grapin.SSSP(0), device="cpu", system="grapin-zc", trace=True)
    engine.apply(grapin.Batch(delete=[tuple(column[0] for column in graph.edge_arrays()[:2])]))
    return engine.trace


def test_a_part_of_the_edges_is_the_same_as_so_many_bytes(trace: Trace) -> None:
    (part,) = combine(["a5000"], ["grapin-page"], settings=["gpu.memory=33%"])
    size = int(edge_bytes(trace) * 0.33)
    (whole,) = combine(["a5000"], ["grapin-page"], settings=[f"gpu.memory={size}"])
    predicted, expected = sweep({"published": trace}, [part, whole])
    assert predicted.machine == "a5000+gpu.memory=33%"
    assert predicted.phases == expected.phases
    assert predicted.phases != replay(trace, "grapin-page", "a5000").phases
    sized = part.sized(trace)
    assert (sized.machine.gpu.memory, sized.machine.name, sized.memory_share) == (
        size,
        "a5000+gpu.memory=33%",
        None,
    )


@pytest.mark.parametrize(
    ("memory", "oversubscribe", "settings", "names"),
    [
        ("33%", None, ["gpu.memory=33%"], ["a5000+gpu.memory=33%"]),
        (None, "4", ["gpu.memory=25%"], ["a5000+gpu.memory=25%"]),
        (None, "2,4", ["gpu.memory=50%,25%"], ["a5000+gpu.memory=50%", "a5000+gpu.memory=25%"]),
        ("1G,10%", None, ["gpu.memory=1G,10%"], ["a5000+gpu.memory=1G", "a5000+gpu.memory=10%"]),
        (None, None, [], ["a5000"]),
    ],
)
def test_three_spellings_are_one_setting(
    memory: str | None, oversubscribe: str | None, settings: list[str], names: list[str]
) -> None:
    assert list(memory_settings(memory, oversubscribe)) == settings
    assert [one.machine.name for one in combine(["a5000"], ["bounded"], settings=settings)] == names


def test_other_settings_stand_beside_it() -> None:
    (found,) = combine(["a5000"], ["bounded"], settings=["link.generation=5", "gpu.memory=50%"])
    assert (found.machine.name, found.memory_share) == ("a5000+link.generation=5+gpu.memory=50%", 0.5)
    assert found.machine.link.rate > combine(["a5000"], ["bounded"])[0].machine.link.rate


def test_a_part_stays_a_part_on_a_smaller_graph() -> None:
    (found,) = combine(["a5000"], ["bounded"], settings=["gpu.memory=50%"])
    assert scaled(found, 0.25).memory_share == 0.5


@pytest.mark.parametrize(
    ("memory", "oversubscribe", "sentence"),
    [
        ("0%", None, "gpu.memory='0%' must be from 0.01% to 10000%"),
        ("33", "3", "oversubscribe='3' must be left out"),
        (None, "0", "oversubscribe='0' must be how many times"),
        (None, "x", "oversubscribe='x' must be how many times"),
        (None, "nan", "oversubscribe='nan' must be how many times"),
        (None, "inf", "oversubscribe='inf' must be how many times"),
        ("3x", None, "gpu.memory='3x' must be a size"),
    ],
)
def test_what_is_no_memory_is_refused(memory: str | None, oversubscribe: str | None, sentence: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        combine(["a5000"], ["bounded"], settings=memory_settings(memory, oversubscribe))
    assert sentence in str(refused.value)


def test_memory_is_set_once() -> None:
    with pytest.raises(InvalidArgument, match=r"gpu\.memory is set already"):
        combine(["a5000"], ["bounded"], settings=["gpu.memory=1G", *memory_settings(None, "3")])


def test_a_part_that_is_too_small_for_a_system_says_how_much_it_is(trace: Trace) -> None:
    (found,) = combine(["a5000"], ["grapin-page"], settings=["gpu.memory=1%"])
    with pytest.raises(
        InvalidArgument, match=r"gpu.memory=1% has .*, that part of the graph's edges: memory="
    ):
        sweep({"published": trace}, [found])
