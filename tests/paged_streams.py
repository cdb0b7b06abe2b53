"""Streams of batches that meet every kind of list, and graphs in pages whose kernels are simulated."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from store_model import Arc, Model, assert_same, said

from grapin import Batch, Graph
from grapin.graph.page_store import PageStore
from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.pages import arena
from grapin.kernels.cuda.simulator import Simulator

WARP = 4
"""Lanes of a simulated warp: fewer than a page has edges, so that a page is read in several steps."""


@contextmanager
def simulated(seed: int) -> Iterator[None]:
    """Let arenas of `cudasim` be made for warps of few lanes, two of which contend."""
    backend = Simulator(warp=WARP, shape=Shape(1, 2 * WARP), seed=seed)
    with patch.object(arena, "_backend", lambda _device: backend):
        yield


def start(draws: random.Random, store: PageStore, *, directed: bool, **options: Any) -> tuple[Graph, Model]:
    """Return a drawn graph in pages and its model."""
    bound, weighted = draws.choice([1, 3, 6, 12]), draws.random() < 0.5
    pairs = {(draws.randrange(bound), draws.randrange(bound)) for _ in range(draws.choice([0, 10, 80]))}
    arcs = {pair: draws.randrange(1, 5) for pair in sorted(pairs) if directed or pair[0] <= pair[1]}
    model = Model(directed, weighted, set(range(bound)))
    for (source, target), weight in arcs.items():
        ends = [(source, target), (target, source)]
        model.arcs.update(dict.fromkeys(ends[: 1 if directed else 2], weight if weighted else 0))
    columns = np.array(list(arcs), np.int32).reshape(-1, 2)
    weights = np.array(list(arcs.values()), np.int32) if weighted else None
    graph = Graph.from_edges(
        columns[:, 0], columns[:, 1], weights, vertices=bound, directed=directed, store=store, **options
    )
    return graph, model


def next_batch(draws: random.Random, graph: Graph, model: Model) -> Batch:
    """Return a batch of every kind of mutation, some of which is to be ignored."""
    coming = graph.free_vertices(draws.choice([0, 0, 0, 1, 2])).tolist()
    alive = sorted(model.vertices)
    going = draws.sample(alive, min(len(alive), draws.choice([0, 0, 0, 1, 2])))
    left = [vertex for vertex in alive + coming if vertex not in going]
    insert: dict[Arc, int] = {}
    reweight: dict[Arc, int] = {}
    delete: set[Arc] = set()
    for _ in range(draws.choice([0, 3, 40]) if left else 0):
        ends = draws.choice(left), draws.choice(left)
        edge = ends if model.directed else (min(ends), max(ends))
        kind = draws.random()
        if kind < 0.5:
            insert[edge] = draws.randrange(1, 5)
        elif kind < 0.85:
            delete.add(edge)
        else:
            reweight[edge] = draws.randrange(1, 5)
    if draws.random() < 0.5:
        delete |= {arc for arc in model.arcs if draws.random() < 0.4 and (model.directed or arc[0] <= arc[1])}
    delete -= insert.keys()
    rows = {arc: weight for arc, weight in reweight.items() if arc not in insert and arc not in delete}
    return Batch(
        insert=_rows(insert, model),
        delete=sorted(delete),
        reweight=_rows(rows, model) if model.weighted else (),
        insert_vertices=coming,
        delete_vertices=going,
    )


def _rows(edges: dict[Arc, int], model: Model) -> list[tuple[int, ...]]:
    return [(*edge, weight) if model.weighted else edge for edge, weight in edges.items()]


def follow(draws: random.Random, graph: Graph, model: Model, batches: int) -> None:
    """Apply batches to both; after each they must be equal, have said the same, and every page have one owner."""
    assert_same(graph, model)
    for _ in range(batches):
        batch = next_batch(draws, graph, model)
        assert said(graph.apply(batch)) == model.apply(batch)
        assert_same(graph, model)
