"""What must hold of a cache in device memory on any backend that runs the kernels."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from grapin import Graph
from grapin.cache import CacheSettings, HotCache, Plan
from grapin.cache.records import Records, Step
from grapin.kernels.cuda.backend import Backend
from grapin.kernels.cuda.cache.copies import DeviceCopies
from grapin.system import ZeroCopy

NOTHING = np.empty(0, np.int64)


def new_copies(backend: Backend, elements: int) -> DeviceCopies:
    """Return room for so many neighbours and weights, in chunks so small that moves are made list by list."""
    hot = HotCache(CacheSettings("adaptive", 8 * elements, chunk=16), arrays=2)
    return DeviceCopies(backend, hot, ZeroCopy(), np.int32)


def check_moves(backend: Backend, data: Any) -> None:
    """Lists of any lengths change places with each other, and each arrives as it was."""
    lengths = np.array(data.draw(st.lists(st.integers(0, 9), max_size=6), label="lengths"), np.int64)
    total = int(lengths.sum())
    orders = [data.draw(st.permutations(range(len(lengths))), label="order") for _ in range(2)]
    before = np.arange(total + 4, dtype=np.int32)
    expected = before.copy()
    places = []
    for gap, order in zip((0, 4), orders, strict=True):
        ordered = lengths[order]
        found = np.empty(len(lengths), np.int64)
        found[order] = gap + np.cumsum(ordered) - ordered
        places.append(found)
    for source, target, length in zip(*places, lengths, strict=True):
        expected[target : target + length] = before[source : source + length]
    copies = new_copies(backend, total + 4)
    backend.copy(copies.neighbours, before)
    backend.copy(copies.weights, -before)
    moved = np.arange(len(lengths))
    plan = Plan(moved, places[0], places[1], lengths, outgrown=len(moved))
    copies.carry_out(plan, Graph.empty(1).snapshot())
    neighbours, weights = copies.contents()
    assert neighbours.tolist() == expected.tolist()
    assert weights.tolist() == (-expected).tolist()


def check_mending(backend: Backend, data: Any) -> None:
    """Copies that are behind by any records become what those say."""
    ids = st.integers(0, 40)
    weights = st.integers(0, 9)
    copies = new_copies(backend, 4 * 48)
    held = data.draw(st.lists(st.dictionaries(ids, weights, max_size=40), max_size=4), label="held")
    neighbours, stored = (np.full(4 * 48, 99, np.int32) for _ in range(2))
    records: list[tuple[int, int]] = []
    bounds, expected = [0], []
    for entry, copy in enumerate(held):
        here = slice(48 * entry, 48 * entry + len(copy))
        neighbours[here], stored[here] = list(copy), list(copy.values())
        after = dict(copy)
        for neighbour, weight in data.draw(st.lists(st.tuples(ids, weights), max_size=5), label="changes"):
            leaves = neighbour in after and data.draw(st.booleans(), label="leaves")
            records.append((~neighbour if leaves else neighbour, weight))
            if leaves:
                del after[neighbour]
            else:
                after[neighbour] = weight
        bounds.append(len(records))
        expected.append(after)
    backend.copy(copies.neighbours, neighbours)
    backend.copy(copies.weights, stored)
    columns = np.array(records, np.int32).reshape(-1, 2).T
    missed = SimpleNamespace(since=lambda *_: Records(np.array(bounds), *map(np.ascontiguousarray, columns)))
    lengths = np.array([len(copy) for copy in held], np.int64)
    number = np.arange(len(held), dtype=np.int64)
    at = 48 * number
    step = Step(Plan(), number, at, lengths, number, NOTHING, NOTHING)
    copies.prepare(step, missed, NOTHING, np.empty(0, np.uint8))  # type: ignore[arg-type]  # all that is asked of it
    now = copies.contents()
    for entry, after in enumerate(expected):
        found = [column[48 * entry : 48 * entry + len(after)].tolist() for column in now]
        assert sorted(zip(*found, strict=True)) == sorted(after.items())
