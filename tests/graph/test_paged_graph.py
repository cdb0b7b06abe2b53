"""A graph in pages is the same graph: through any batches, in any layout, by either strategy, on any device."""

import copy
import os
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from paged_streams import follow, simulated, start
from store_model import arcs_of

from grapin import Batch, CorruptGraph, Graph, InvalidArgument, InvalidBatch
from grapin.graph.page_store import PageStore
from grapin.graph.paged import PagedGraph
from grapin.kernels.cuda.pages.lists import EDGES_FROM, FRESH, QUEUED, TAKEN
from grapin.testing import StoreMachine

DEEP = os.environ.get("GRAPIN_PROFILE") == "deep"
LAYOUTS = {
    "default": PageStore(),
    "one sector a page": PageStore(page_bytes=32),
    "separate weights": PageStore(arrangement="separate"),
    "as published": PageStore(published=True),
    "as published, separate weights": PageStore(published=True, arrangement="separate", page_bytes=32),
}
KINDS = {
    "directed": {"directed": True},
    "out-lists only": {"directed": True, "in_direction": False},
    "undirected": {"directed": False},
}


class OneLaneMachine(StoreMachine):
    """The store in pages on the one-lane device."""

    def make_store(self, start: dict[str, Any], options: dict[str, Any]) -> Graph:
        return Graph.from_edges(**start, in_direction=options["in_direction"], store="pages")


class SimulatedMachine(StoreMachine):
    """The store in pages in the simulator, where lanes contend for lists."""

    def make_store(self, start: dict[str, Any], options: dict[str, Any]) -> Graph:
        strategy = "update-centric" if options["aligned"] else "vertex-centric"
        store = PageStore(device="cudasim", strategy=strategy)
        with simulated(seed=len(start["source"])):
            return Graph.from_edges(**start, in_direction=options["in_direction"], store=store)


OneLaneMachine.TestCase.settings = settings(max_examples=1000 if DEEP else 15, stateful_step_count=10)
SimulatedMachine.TestCase.settings = settings(max_examples=200 if DEEP else 3, stateful_step_count=5)
TestInPagesOnOneLane = OneLaneMachine.TestCase
TestInPagesSimulated = SimulatedMachine.TestCase


@pytest.mark.parametrize("strategy", ["update-centric", "vertex-centric"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_and_strategy_does_what_the_model_does(layout: str, kind: str, strategy: str) -> None:
    for seed in range(20 if DEEP else 2):
        draws = random.Random(f"{layout} {kind} {strategy} {seed}")
        with simulated(seed):
            store = replace(LAYOUTS[layout], strategy=strategy, device="cudasim")
            graph, model = start(draws, store, **KINDS[kind])
            follow(draws, graph, model, batches=6)


def in_pages(edges: int = 2000, vertices: int = 200, *, weighted: bool = False, **options: Any) -> PagedGraph:
    random = np.random.default_rng(7)
    keys = np.unique(random.integers(0, vertices * vertices, edges))
    weights = random.integers(1, 9, len(keys)).astype(np.int32) if weighted else None
    store = options.pop("store", "pages")
    graph = Graph.from_edges(
        keys // vertices, keys % vertices, weights, vertices=vertices, store=store, **options
    )
    assert isinstance(graph, PagedGraph)
    return graph


def absent(graph: Graph, count: int) -> np.ndarray[Any, Any]:
    """Return so many edges that are not there, as two columns."""
    source, target, _ = graph.edge_arrays()
    every = np.setdiff1d(np.arange(graph.bound**2), source.astype(np.int64) * graph.bound + target)
    chosen = np.random.default_rng(1).choice(every, count, replace=False)
    return np.column_stack((chosen // graph.bound, chosen % graph.bound))


def test_a_batch_crosses_the_link_once_as_columns_and_only_counts_come_back() -> None:
    graph = in_pages()
    edges = absent(graph, 300)
    for batch in (Batch(insert=edges), Batch(delete=edges)):
        sent, received = graph.host_to_device, graph.device_to_host
        graph.apply(batch)
        assert graph.host_to_device - sent == 8 * 300
        assert graph.device_to_host - received <= 160  # the released faimGraph copies its header back
    weighted = in_pages(weighted=True)
    sent = weighted.host_to_device
    weighted.apply(Batch(insert=np.column_stack((edges, edges[:, 0]))))
    assert weighted.host_to_device - sent == 12 * 300


def test_what_a_batch_did_comes_back_when_it_is_read() -> None:
    graph = in_pages()
    edges = absent(graph, 300)
    applied = graph.apply(Batch(insert=edges, insert_vertices=[200]))
    received = graph.device_to_host
    assert (len(applied.inserted), applied.inserted_vertices.tolist()) == (300, [200])
    assert graph.device_to_host - received == 4 * 300
    assert applied.version == graph.version == 1
    kept = pickle.loads(pickle.dumps(applied))
    assert kept.inserted.keys.tolist() == applied.inserted.keys.tolist()
    with pytest.raises(AttributeError, match="no attribute 'anything'"):
        _ = applied.anything  # type: ignore[attr-defined]


@pytest.mark.parametrize("weighted", [False, True])
def test_inserting_and_deleting_the_same_edges_returns_to_the_same_footprint_every_round(
    weighted: bool,
) -> None:
    graph = in_pages(weighted=weighted)
    before = graph.statistics()["pages in lists"]
    for turn in range(6):
        edges = absent(graph, 400)
        rows = np.column_stack((edges, edges[:, 0] + 1)) if weighted else edges
        graph.apply(Batch(insert=rows))
        size = sum(graph.memory().values())
        graph.apply(Batch(delete=edges))
        graph.check()
        assert graph.statistics()["pages in lists"] == before
        assert turn == 0 or sum(graph.memory().values()) == size  # what was given back was used again


def test_copies_pickles_and_snapshots_last_while_the_graph_changes() -> None:
    graph = in_pages(weighted=True)
    arcs, before = arcs_of(graph), graph.edge_arrays()
    others = [graph.copy(), copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))]
    snapshot = graph.snapshot()
    graph.apply(Batch(delete=np.column_stack(before[:2])))
    assert graph.edges == 0
    for other in others:
        other.check()
        assert arcs_of(other) == arcs
        other.apply(Batch(delete_vertices=[0]))
        other.check()
    assert snapshot.out.degrees.sum() == len(before[0])


def test_one_list_and_one_edge_can_be_asked_for() -> None:
    graph = in_pages(weighted=True)
    source, target, weights = graph.edge_arrays()
    packed = Graph.from_edges(source, target, weights, vertices=graph.bound)
    for vertex in range(0, 200, 17):
        assert sorted(graph.out_neighbours(vertex)) == sorted(packed.out_neighbours(vertex))
        assert sorted(graph.in_neighbours(vertex)) == sorted(packed.in_neighbours(vertex))
        assert graph.in_degree(vertex) == packed.in_degree(vertex)
        assert sorted(graph.out_weights(vertex)) == sorted(packed.out_weights(vertex))
    edge = int(source[5]), int(target[5])
    assert graph.has_edge(*edge)
    assert graph.weight(*edge) == packed.weight(*edge)
    missing = int(absent(graph, 1)[0, 0]), int(absent(graph, 1)[0, 1])
    assert not graph.has_edge(*missing)
    with pytest.raises(InvalidArgument, match="must exist to have a weight"):
        graph.weight(*missing)
    with pytest.raises(InvalidArgument, match="in_direction=False must be True"):
        in_pages(in_direction=False).in_neighbours(0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"page_bytes": 16}, "page_bytes=16 must be at least 32"),
        ({"page_bytes": 48}, "page_bytes=48 must be a multiple of 32"),
        ({"slack": 0.5}, "slack=0.5 must be at least 1"),
        ({"strategy": "edge-centric"}, "strategy='edge-centric' must be one of"),
        ({"device": "cpu"}, "device='cpu' must be one of"),
    ],
)
def test_a_store_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        PageStore(**options)


def test_an_arena_that_does_not_fit_is_refused_with_the_size_that_would_serve() -> None:
    with pytest.raises(InvalidArgument, match=r"most_bytes=10000: (\d+) would serve") as refusal:
        in_pages(store=PageStore(most_bytes=10_000))
    enough = int(str(refusal.value).split(": ")[-1].split()[0])
    graph = in_pages(store=PageStore(most_bytes=enough))
    assert sum(size for name, size in graph.memory().items() if name.startswith("arena")) <= enough
    graph.check()


def test_a_strict_graph_refuses_to_delete_edges_of_vertices_that_come_with_the_batch() -> None:
    graph = in_pages(weighted=True)
    words = graph._arena.pages.words
    beyond = graph._arena.records * graph._arena.layout.record_words
    words[beyond : beyond + 64] = (
        1 << 20
    )  # what was never written may be anything, such as the degree of a long list
    for part in ("delete", "reweight"):
        edge = (0, 200) if part == "delete" else (200, 0, 5)
        with pytest.raises(InvalidBatch, match="must exist to be deleted or re-weighted"):
            graph.apply(Batch(insert_vertices=[200], **{part: [edge]}), strict=True)
    graph.check()


def test_a_batch_for_which_memory_is_short_is_refused_whole_and_told_what_would_serve() -> None:
    limit = 60_000
    graph = in_pages(vertices=100, edges=1000, store=PageStore(most_bytes=limit))
    before = [column.tolist() for column in graph.edge_arrays()[:2]]
    batch = Batch(insert=absent(graph, 8000), delete_vertices=[], insert_vertices=[100])
    with pytest.raises(InvalidBatch, match=rf"most_bytes={limit}: (\d+) would serve") as refusal:
        graph.apply(batch)
    graph.check()
    assert [column.tolist() for column in graph.edge_arrays()[:2]] == before
    assert graph.bound == 100
    enough = int(str(refusal.value).split(": ")[-1].split()[0])
    larger = in_pages(vertices=100, edges=1000, store=PageStore(most_bytes=enough))
    larger.apply(batch)
    larger.check()
    with pytest.raises(InvalidBatch, match="would serve"):
        in_pages(vertices=100, edges=1000, store=PageStore(most_bytes=enough - 4096)).apply(batch)


def test_a_batch_is_not_refused_for_pages_that_it_gives_back_itself() -> None:
    graph = in_pages(vertices=100, edges=3000)
    free = graph.statistics()["pages free"]
    size = sum(size for name, size in graph.memory().items() if name.startswith("arena"))
    tight = in_pages(vertices=100, edges=3000, store=PageStore(most_bytes=size))
    source, target, _ = tight.edge_arrays()
    new = absent(tight, len(source))
    assert 2 * len(new) > free * tight.store.layout(weighted=False).slots
    tight.apply(Batch(delete=(source, target), insert=new))
    tight.check()
    assert tight.edges == len(new)


def test_a_graph_grows_from_empty_and_keeps_its_pages_where_they_were() -> None:
    graph = Graph.empty(store="pages")
    packed = Graph.empty()
    for size in (1, 10, 100, 1000):
        new = graph.free_vertices(size)
        ends = np.random.default_rng(size).integers(0, graph.bound + size, (3 * size, 2))
        batch = Batch(insert=ends, insert_vertices=new)
        graph.apply(batch)
        packed.apply(batch)
        graph.check()
    check = [np.lexsort(graph.edge_arrays()[1::-1]), np.lexsort(packed.edge_arrays()[1::-1])]
    for one, two in zip(graph.edge_arrays()[:2], packed.edge_arrays()[:2], strict=True):
        np.testing.assert_array_equal(one[check[0]], two[check[1]])
    assert graph.statistics()["growths"] > 2


def lock_a_list(graph: PagedGraph) -> None:
    graph._arena.pages.words[0] |= 1 << 30


def queue_a_page_of_a_list(graph: PagedGraph) -> None:
    graph._arena.pages.queue[0], graph._arena.pages.control[QUEUED] = 0, 1


def lose_a_page(graph: PagedGraph) -> None:
    graph._arena.pages.control[FRESH] += 1


def name_no_vertex(graph: PagedGraph) -> None:
    graph._arena.pages.words[EDGES_FROM] = 10**6


def repeat_a_neighbour(graph: PagedGraph) -> None:
    graph._arena.pages.words[EDGES_FROM] = graph._arena.pages.words[EDGES_FROM + 1]


def leave_a_launch_unsettled(graph: PagedGraph) -> None:
    graph._arena.pages.control[TAKEN] = 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lock_a_list, "list 0 was left locked"),
        (queue_a_page_of_a_list, "page 0 must have one owner, a list or the queue, not 2"),
        (lose_a_page, "must have one owner, a list or the queue, not 0"),
        (name_no_vertex, "list 0 holds something that is no vertex"),
        (repeat_a_neighbour, "list 0 holds a neighbour twice"),
        (leave_a_launch_unsettled, "1 pages taken and 0 given back are not settled"),
    ],
)
def test_check_finds_what_is_damaged(damage: Callable[[PagedGraph], None], message: str) -> None:
    graph = in_pages(vertices=20, edges=200)
    graph.check()
    damage(graph)
    with pytest.raises(CorruptGraph, match=message):
        graph.check()
