"""The accumulative family: every program of it is right on every device, and a planted error is found."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import grapin
from grapin import Batch, Engine, Graph, InvalidArgument
from grapin.engine.verify import verify_answer
from grapin.errors import BrokenRule
from grapin.programs.accumulative import Accumulative
from grapin.system import RUNNABLE
from grapin.testing import MutationStream, Setup, Weights, mutation_streams, search


class Decay(grapin.Accumulative):
    """A rule of the user's own: the more edges a vertex has, the less it passes on; amounts are given by vertex."""

    name = "decay"
    weighted = True

    def share(self, degree: Any, total: Any) -> Any:
        return 0.9 / (total + 1)


KINDS: dict[str, Any] = {
    "weighted": lambda _: grapin.WeightedPageRank(tolerance=1e-5),
    "personalised": lambda some: grapin.PersonalisedPageRank(some, tolerance=1e-5),
    "katz": lambda _: grapin.Katz(1e-3, tolerance=1e-6),
    "hitting": lambda some: grapin.HittingProbability(some, tolerance=1e-5),
    "own": lambda some: Decay({vertex: 2.5 + vertex for vertex in some}, tolerance=1e-6),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("device", ["cpu", "onelane"])
@settings(max_examples=settings().max_examples // 4)
@given(data=st.data())
def test_after_any_stream_every_program_is_within_its_certified_error(
    device: str, kind: str, data: st.DataObject
) -> None:
    if device != "cpu":
        pytest.importorskip("numba.cuda", reason="this Numba has no CUDA names")
    weights = data.draw(st.sampled_from(["int32", "float32", "none"]), label="weights")
    mutations: MutationStream = data.draw(mutation_streams(weights=weights, max_batches=3), label="mutations")
    system = data.draw(st.sampled_from(RUNNABLE), label="system")
    graph = Graph.from_edges(**mutations.start)
    assume(graph.vertices)
    program = KINDS[kind]([int(vertex) for vertex in np.flatnonzero(graph.alive())[:2]])
    engine = Engine(graph, program, device=device, system=system, trace=True)
    verify_answer(engine.answers[0], graph)
    for batch in mutations.batches:
        engine.apply(batch)
        verify_answer(engine.answers[0], graph)


def test_programs_are_what_networkx_computes() -> None:
    drawn = nx.gnp_random_graph(60, 0.08, seed=1, directed=True)
    for source, target in drawn.edges:
        drawn[source][target]["weight"] = (source * 7 + target) % 5 + 1
    rows = [(source, target, data["weight"]) for source, target, data in drawn.edges(data=True)]
    graph = Graph.from_edges(*map(list, zip(*rows, strict=True)), vertices=60)
    expected = {
        grapin.WeightedPageRank(tolerance=1e-9): nx.pagerank(drawn, tol=1e-12),
        grapin.PersonalisedPageRank({3: 1, 5: 2}, tolerance=1e-9): nx.pagerank(
            drawn, personalization={3: 1, 5: 2}, weight=None, tol=1e-12
        ),
        grapin.Katz(0.05, tolerance=1e-9): nx.katz_centrality(drawn, 0.05, tol=1e-12, normalized=False),
    }
    engine = Engine(graph, list(expected))
    for answer, theirs in zip(engine.answers, expected.values(), strict=True):
        values = np.array([theirs[vertex] for vertex in range(60)])
        assert np.abs(answer.values - values).sum() <= 2e-9 * values.sum() + 1e-9


def test_a_source_keeps_what_it_has_where_nothing_flows_into_sources() -> None:
    graph = Graph.from_edges([0, 1, 1], [1, 0, 2], weight=[1, 1, 3], weights="int32", vertices=3)
    engine = Engine(graph, grapin.HittingProbability(0, tolerance=1e-9))
    assert np.allclose(engine.values, [1.0, 0.8, 0.48])


def test_when_all_sources_are_gone_nothing_is_left() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0])
    engine = Engine(graph, [grapin.PersonalisedPageRank(0), grapin.HittingProbability(0)])
    engine.apply(Batch(delete_vertices=[0]))
    assert not any(answer.values.any() for answer in engine.answers)
    engine.apply(Batch(insert_vertices=[0], insert=[(0, 1)]))
    for answer in engine.answers:
        verify_answer(answer, graph)


def test_a_rule_that_does_not_contract_is_refused_with_the_vertex_and_the_factor() -> None:
    graph = Graph.from_edges([4] * 5 + [0], [*range(5), 1])
    with pytest.raises(BrokenRule, match=r"Katz\.share must contract, but vertex 4, .* passes on 1\.5 times"):
        Engine(graph, grapin.Katz(0.3))


@pytest.mark.parametrize(("share", "said"), [(float("nan"), "nan"), (-0.5, "-0.5")])
def test_a_share_that_is_no_share_is_refused_by_vertex(share: float, said: str) -> None:
    kind = type("Odd", (Accumulative,), {"name": "odd", "share": lambda _self, _degree, _total: share})
    with pytest.raises(
        BrokenRule, match=rf"Odd\.share must be a number of at least 0, but vertex 2, .* {said}"
    ):
        Engine(Graph.from_edges([2], [1]), kind())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: grapin.PersonalisedPageRank([]), "source must be at least one vertex"),
        (lambda: grapin.PersonalisedPageRank({1: 0}), r"source\[1\]=0 must be a number above 0"),
        (lambda: grapin.HittingProbability(None), "HittingProbability must have a source"),
        (lambda: grapin.Katz(1.0), "attenuation=1.0 must be at least 0 and below 1"),
        (lambda: Decay(np.array([1.0, np.nan])), r"base\[1\]=nan must be a number of at least 0"),
    ],
)
def test_what_a_program_cannot_start_from_is_refused_when_it_is_made(make: Any, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        make()


@pytest.mark.parametrize("base", [np.ones(2), 7])
def test_a_base_of_another_graph_is_refused(base: Any) -> None:
    with pytest.raises(
        InvalidArgument, match=r"base has 2 amounts and must have 3|source=7 must be a vertex"
    ):
        Engine(Graph.from_edges([0, 1], [1, 2]), Decay(base))


PLANTED = '''
import numpy as np
import grapin


class Planted(grapin.WeightedPageRank):
    name = "planted"

    def share(self, degree, total):
        """What devices compute for many vertices at once is not what the rule says for each."""
        return self.damping / (total if np.ndim(total) == 0 else np.minimum(total, degree + 3))
'''


def test_a_planted_error_is_found_by_random_streams(tmp_path: Any) -> None:
    file = tmp_path / "planted.py"
    file.write_text(PLANTED)
    setup = Setup(f"{file}:Planted", device="cpu")
    searched = search(setup, weights=[Weights.read("0:9")], examples=200)
    assert searched.failure is not None
    assert "vertex" in str(searched.failure.script())
