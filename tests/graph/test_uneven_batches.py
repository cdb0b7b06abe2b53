"""After batches of very uneven sizes the store is what a dictionary says: hubs that get thousands of arcs at once, most
of their ends new, and half of all arcs gone again.

A state machine that Hypothesis steers keeps its batches small, and finds what small batches break. What makes room
for large ones is tried here by chance: two ways for lists to lie over each other showed in about one of 200 and one
of 4,000 streams.
"""

import os
import random
from collections.abc import Iterator

import numpy as np
import pytest
from store_model import Arc, Model, assert_same, said

from grapin import Batch, Graph

DEEP = os.environ.get("GRAPIN_PROFILE") == "deep"
STREAMS = 5_000 if DEEP else 100
GROUP = 500 if DEEP else 50


def start(chance: random.Random) -> tuple[Graph, Model]:
    """Return a graph of up to 2,000 vertices, with few arcs or with a hub, and what is in it."""
    model = Model(directed=chance.random() < 0.5, weighted=chance.random() < 0.5)
    bound = chance.choice([0, 1, 5, 40, 300, 2000])
    count, power = chance.choice([0, bound, 4 * bound]), chance.choice([1, 3])
    pairs = {(chance.randrange(bound), int(bound * chance.random() ** power)) for _ in range(count)}
    if not model.directed:
        pairs = {(min(pair), max(pair)) for pair in pairs}
    graph = Graph.empty(
        directed=model.directed, aligned=chance.random() < 0.8, weights="int32" if model.weighted else "none"
    )
    batch = Batch(insert=rows(pairs, model, chance), insert_vertices=np.arange(bound))
    assert said(graph.apply(batch)) == model.apply(batch)
    return graph, model


def batches(graph: Graph, model: Model, chance: random.Random) -> Iterator[Batch]:
    """Yield batches for the graph as the ones before have left it."""
    for _ in range(chance.choice([3, 10, 40])):
        fresh, count = chance.choice([0, 0, 1, 5, 50, 500]), chance.choice([0, 1, 10, 100, 1500])
        free = sorted(set(range(graph.bound)) - model.vertices)
        new = (free + list(range(graph.bound, graph.bound + fresh)))[:fresh]
        alive = sorted(model.vertices)
        gone = set(chance.sample(alive, min(len(alive), chance.choice([0, 0, 0, 1, 20]))))
        ends = [vertex for vertex in alive if vertex not in gone] + new
        if not ends:
            continue
        sources = [chance.choice(ends) for _ in range(2)] if chance.random() < 0.4 else ends
        pairs = set()
        for _ in range(count):
            pair = chance.choice(sources), chance.choice(new if new and chance.random() < 0.5 else ends)
            pair = pair if chance.random() < 0.5 else (pair[1], pair[0])
            pairs.add(pair if model.directed else (min(pair), max(pair)))
        old = sorted(arc for arc in model.arcs if model.directed or arc[0] <= arc[1])
        deleted = chance.sample(old, min(len(old), chance.choice([0, 3, 50, len(old) // 2])))
        kept = [arc for arc in deleted if arc not in pairs and not gone & set(arc)]
        yield Batch(
            insert=rows(pairs, model, chance),
            delete=kept,
            insert_vertices=new,
            delete_vertices=sorted(gone),
        )


def rows(pairs: set[Arc], model: Model, chance: random.Random) -> list[tuple[int, ...]]:
    return [(*pair, chance.randrange(100)) if model.weighted else pair for pair in sorted(pairs)]


@pytest.mark.parametrize("first", range(0, STREAMS, GROUP))
def test_after_uneven_batches_the_store_is_what_a_dictionary_says(first: int) -> None:
    for seed in range(first, first + GROUP):
        chance = random.Random(seed)
        graph, model = start(chance)
        for batch in batches(graph, model, chance):
            assert said(graph.apply(batch)) == model.apply(batch), seed
            graph.check()
        assert_same(graph, model)
