"""Growing from empty costs what is inserted: no batch pays for the whole graph, and nothing is lost on the way."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, run_state_machine_as_test
from numpy.typing import NDArray
from store_model import Model, assert_same, said

from grapin import Batch, Graph
from grapin.errors import CorruptGraph
from grapin.graph import adjacency, migration
from grapin.graph.adjacency import Adjacency
from grapin.graph.packed import USED_LINES, aligned_empty, used_lines
from grapin.testing import StoreMachine


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let lists go to larger arrays so slowly that many batches meet them on their way."""
    monkeypatch.setattr(migration, "LEAST_STEP", 5)


def arriving(batches: int, size: int, *, share: float = 0.3, seed: int = 0) -> list[Batch]:
    """Return batches of edges of which a share brings a vertex that was not there; old and new ends grow."""
    random = np.random.default_rng(seed)
    known, made = 0, []
    for _ in range(batches):
        fresh = max(1, int(size * share))
        bound = known + fresh
        source = random.integers(0, bound, size)
        target = np.concatenate(
            (np.arange(known, bound), (random.random(size - fresh) ** 2 * bound).astype(int))
        )
        pairs = np.unique(np.column_stack((source, target)), axis=0)
        made.append(Batch(insert=(pairs[:, 0], pairs[:, 1]), insert_vertices=np.arange(known, bound)))
        known = bound
    return made


@pytest.mark.usefixtures("slowly")
@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**20),
    directed=st.booleans(),
    aligned=st.booleans(),
    weighted=st.booleans(),
    hubs=st.booleans(),
)
def test_lists_on_their_way_to_larger_arrays_stay_right(
    seed: int, directed: bool, aligned: bool, weighted: bool, hubs: bool
) -> None:
    random = np.random.default_rng(seed)
    graph = Graph.empty(directed=directed, aligned=aligned, weights="int32" if weighted else "none")
    model = Model(directed, weighted)
    met = 0
    for step in range(80):
        bound = graph.bound
        fresh = int(random.integers(0, 12))
        ends = max(bound + fresh, 1)
        fresh = ends - bound
        count = int(random.integers(1, 60))
        source = (
            random.integers(0, min(3, ends), count) if hubs and step % 3 else random.integers(0, ends, count)
        )
        pairs = {(int(u), int(v)) for u, v in zip(source, random.integers(0, ends, count), strict=True)}
        if not directed:
            pairs = {(min(pair), max(pair)) for pair in pairs}
        old = sorted(arc for arc in model.arcs if directed or arc[0] <= arc[1])
        part = int(random.integers(0, 3)) * len(old) // 10
        chosen = [old[row] for row in random.permutation(len(old))[:part]]
        deleted, same = chosen[: part // 2], chosen[part // 2 :] if weighted else []
        pairs -= set(chosen)
        weight = random.integers(0, 99, len(pairs)).tolist()
        insert = [(*pair, w) if weighted else pair for pair, w in zip(sorted(pairs), weight, strict=True)]
        reweight = [(*arc, int(random.integers(0, 99))) for arc in same]
        columns: dict[str, Any] = {"reweight": reweight} if reweight else {}
        batch = Batch(
            insert=insert, delete=deleted, insert_vertices=np.arange(bound, bound + fresh), **columns
        )
        assert said(graph.apply(batch)) == model.apply(batch)
        assert_same(graph, model)
        met += any(side._migration is not None for side in graph._directions())
    assert met
    assert graph.statistics()["growths"] > 0


@pytest.mark.usefixtures("slowly")
def test_the_store_stays_equal_to_the_reference_while_lists_are_on_their_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adjacency, "_FILLED", 0.02)  # so that the small graphs of the machine begin to grow
    met = 0

    class Observed(StoreMachine):
        @invariant()
        def note_migrations(self) -> None:
            nonlocal met
            met += any(side._migration is not None for side in self.store._directions())

    run_state_machine_as_test(Observed)
    assert met


def test_growing_moves_a_few_elements_for_each_edge_inserted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is counted, not timed: lists moved for room, lists copied to larger arrays, and those copied at once."""
    at_once: list[int] = []
    lay_out = Adjacency._lay_out

    def noted(self: Adjacency, lines: int, tail: int = 0) -> None:
        at_once.append(self.used_lines)
        lay_out(self, lines, tail)

    monkeypatch.setattr(Adjacency, "_lay_out", noted)
    graph = Graph.empty()
    moved = []
    batches = arriving(300, 1000)
    for batch in batches:
        before = graph.statistics()["lists moved"]
        graph.apply(batch)
        moved.append(graph.statistics()["lists moved"] - before)
    graph.check()
    assert graph.statistics()["elements moved"] < 50 * graph.edges
    # Large graphs go to larger arrays step by step, and no batch makes room by moving a good part of all lists.
    assert max(at_once) < 0.2 * max(side.used_lines for side in graph._directions())
    assert max(moved) < 0.5 * graph.bound
    copied = sum(at_once)
    assert copied < 5 * graph._out.used_lines


def test_lists_that_only_get_longer_are_amortised_too() -> None:
    """Cliques of neighbours in the order of ids, which is how a file sorted by vertex fills a graph."""
    graph = Graph.empty(directed=False)
    for first in range(0, 6000, 60):
        ends = np.arange(first, first + 60)
        source, target = np.triu_indices(60, 1)
        graph.apply(Batch(insert=(source + first, target + first), insert_vertices=ends))
    assert graph.statistics()["elements moved"] < 50 * graph.edges


@pytest.mark.usefixtures("slowly")
def test_a_copy_made_on_the_way_is_a_graph_of_its_own() -> None:
    graph = Graph.empty()
    batches = arriving(200, 50, seed=5)
    model = Model(directed=True, weighted=False)
    copied = False
    for batch in batches:
        graph.apply(batch)
        model.apply(batch)
        if graph._out._migration is not None and not copied:
            copy, copied = graph.copy(), True
            edges = copy.edges
    assert copied
    assert_same(graph, model)
    copy.check()
    assert copy.edges == edges


@pytest.mark.usefixtures("slowly")
def test_a_graph_on_its_way_that_has_no_memory_to_grow_goes_on_until_it_is_full() -> None:
    allowed = True

    def allocate(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        if not allowed:
            raise MemoryError
        return aligned_empty(count, dtype)

    graph = Graph.empty(allocate=allocate)
    model = Model(directed=True, weighted=False)
    batches = iter(arriving(400, 50, seed=4))
    for _ in range(40):
        batch = next(batches)
        graph.apply(batch)
        model.apply(batch)
    allowed = False
    full = False
    while not full:
        batch = next(batches)
        try:
            graph.apply(batch)
        except MemoryError:
            full = True
        else:
            model.apply(batch)
    assert graph.version > 40
    assert_same(graph, model)
    allowed = True
    graph.apply(batch)
    model.apply(batch)
    assert_same(graph, model)


@pytest.mark.usefixtures("slowly")
def test_check_finds_a_copy_that_is_another_list() -> None:
    graph = Graph.empty()
    for batch in arriving(200, 50, seed=5):
        graph.apply(batch)
        moving = graph._out._migration
        if moving is not None and moving.done and moving.lists.degrees[0]:
            break
    assert moving is not None
    moving.lists.neighbours[moving.lists.starts[0]] += 1
    with pytest.raises(CorruptGraph, match="larger arrays"):
        graph.check()


def test_memory_counts_the_larger_arrays_while_they_fill() -> None:
    graph = Graph.empty()
    for batch in arriving(200, 400, seed=6):
        graph.apply(batch)
        moving = graph._out._migration
        if moving is not None:
            break
    assert moving is not None
    neighbours = graph.memory()["out.neighbours"]
    assert neighbours == graph._out.lists.neighbours.nbytes + moving.lists.neighbours.nbytes


@given(st.integers(1, 60), st.booleans())
def test_a_small_graph_is_not_laid_out_again_by_small_batches(vertices: int, weighted: bool) -> None:
    graph = Graph.from_edges([], [], vertices=vertices, weights="int32" if weighted else None)
    for vertex in range(5):
        edge = (vertex % vertices, (vertex + 1) % vertices)
        graph.apply(Batch(insert=[(*edge, 1) if weighted else edge]))
    assert graph.statistics()["shrinks"] == graph.statistics()["growths"] == 0


@given(st.integers(1, 90), st.integers(0, 400), st.booleans(), st.booleans())
def test_a_hub_and_all_that_comes_with_its_arcs_find_room_in_one_batch(
    known: int, coming: int, directed: bool, weighted: bool
) -> None:
    hub, others = np.zeros(known - 1, np.int32), np.arange(1, known, dtype=np.int32)
    weights = np.ones(known - 1, np.int32) if weighted else None
    graph = Graph.from_edges(others, hub, weights, vertices=known, directed=directed)
    ends = [(vertex, 0, 1)[: 3 if weighted else 2] for vertex in range(known + coming)]
    graph.apply(Batch(insert=ends, insert_vertices=list(range(known, known + coming))))
    graph.check()
    assert sorted(graph.in_neighbours(0)) == list(range(known + coming))


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("weighted", [False, True])
def test_larger_arrays_that_have_no_room_for_a_batch_are_given_up(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = Graph.empty(weights="int32" if weighted else "none")
    side = graph._out
    for batch in arriving(300, 1000):
        ones = (np.ones(len(batch.insert.source), np.int32),) if weighted else ()
        graph.apply(
            Batch(
                insert=(batch.insert.source, batch.insert.target, *ones),
                insert_vertices=batch.insert_vertices,
            )
        )
        coming = side._migration
        if coming is not None:
            break
    assert coming is not None
    coming.done = 20
    coming.lists.counters[USED_LINES] = used_lines(coming.lists, 0, 20)
    end = coming.lists.starts[20]
    cut: dict[str, Any] = {"neighbours": coming.lists.neighbours[:end].copy()}
    if weighted:
        cut["weights"] = coming.lists.weights[:end].copy()
    coming.lists = coming.lists._replace(**cut)
    advance = migration.Migration.advance

    def checked(self: migration.Migration, original: Any, *rest: Any) -> bool:
        assert migration.first_difference(original, self.lists, self.done) == -1
        return advance(self, original, *rest)

    monkeypatch.setattr(migration.Migration, "advance", checked)
    lines = (end >> coming.lists.line_shift) - coming.lists.counters[USED_LINES]
    known = set(graph.out_neighbours(7).tolist())
    fresh = [vertex for vertex in range(graph.bound) if vertex not in known][: 32 * (int(lines) + 2)]
    graph.apply(Batch(insert=[(7, vertex, 1)[: 3 if weighted else 2] for vertex in fresh]))
    assert side._migration is not coming
    graph.check()
    assert set(graph.out_neighbours(7).tolist()) == known | set(fresh)
