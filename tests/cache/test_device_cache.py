"""After every batch, whatever the policy and whatever is read: copies equal the store's lists, and space adds up."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.cache import CacheSettings, HotCache, Plan, policies
from grapin.cache.chunks import NOWHERE
from grapin.cache.replay import Coming, Oracle, coming_of
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cpu.device import HostCache, HostCopies
from grapin.testing import MutationStream, mutation_streams
from grapin.trace import changed_lists, whole_reads

POLICIES = ("none", "published", "adaptive", "oracle")


@st.composite
def cache_settings(draw: st.DrawFn, policy: str) -> CacheSettings:
    """Draw rooms from none at all to more than enough, in chunks that hold few lists or all."""
    capacity = draw(st.integers(0, 64) | st.integers(0, 2000), label="capacity")
    chunk = draw(st.integers(8, 80) | st.just(1 << 20), label="chunk")
    return CacheSettings(policy, capacity, chunk=chunk, window=draw(st.integers(1, 4), label="window"))


def any_reads(snapshot: Snapshot, arrays: int, random: np.random.Generator) -> np.ndarray:
    """Return rows of a phase that reads some lists, few of them often, in a few iterations."""
    count = int(random.integers(0, 3 * snapshot.bound + 1))
    favourites = max(1, int(random.integers(1, snapshot.bound + 1)))
    vertices = random.integers(0, favourites, count) * 7 % snapshot.bound
    inward = random.integers(0, 2, count) if snapshot.in_ is not None else np.zeros(count, np.int64)
    into = snapshot.out if snapshot.in_ is None else snapshot.in_
    starts = np.where(inward == 1, into.starts[vertices], snapshot.out.starts[vertices])
    lengths = np.where(inward == 1, into.degrees[vertices], snapshot.out.degrees[vertices])
    iterations = np.sort(random.integers(0, 4, count))
    # Some reads stop early, and some go on where another stopped.
    kept = random.integers(0, 4, count)
    lengths, starts = np.where(kept == 1, (lengths + 1) // 2, lengths), starts + (kept == 2)
    lengths = np.maximum(lengths - (kept == 2), 0)
    asked = random.integers(1, arrays + 1, count)
    return np.column_stack((iterations, 2 * vertices + inward, starts, lengths, asked)).astype(np.int64)


def check_space(cache: HostCache) -> None:
    """Slots lie within chunks and beside each other; used and free space add up."""
    chunks = cache.hot.holdings.chunks
    held = np.flatnonzero(chunks.positions != NOWHERE)
    begins = np.sort(chunks.positions[held])
    order = np.argsort(chunks.positions[held])
    rooms = chunks.rooms[held][order]
    assert (begins[:-1] + rooms[:-1] <= begins[1:]).all()
    assert chunks.used == rooms.sum()
    assert chunks.used + chunks.free == chunks.capacity
    assert (begins + rooms <= chunks.capacity).all()
    if len(held):
        assert (begins // chunks.chunk == (begins + rooms - 1) // chunks.chunk).all()
    assert sorted(chunks.held()) == held.tolist()


def check_copies(cache: HostCache, snapshot: Snapshot) -> int:
    """Every copy that is up to date equals the list in the store; return how many there are."""
    holdings, copies = cache.hot.holdings, cache.copies
    current = np.flatnonzero((holdings.copied > 0) & (holdings.stale_sectors == 0))
    for place in current.tolist():
        lists = snapshot.in_ if place & 1 else snapshot.out
        assert lists is not None
        start, length = int(lists.starts[place >> 1]), int(lists.degrees[place >> 1])
        position = int(cache.hot.positions[place])
        here = copies.neighbours[position : position + length].tolist()
        there = lists.neighbours[start : start + length].tolist()
        if holdings.copied[place] > 1:
            here = list(zip(here, copies.weights[position : position + length].tolist(), strict=True))
            there = list(zip(there, lists.weights[start : start + length].tolist(), strict=True))
        assert sorted(here) == sorted(there), f"list {place} at {position}"
    return len(current)


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data(), seed=st.integers(0, 1 << 30))
def test_copies_equal_the_store_and_space_adds_up_whatever_is_read(
    policy: str, data: st.DataObject, seed: int
) -> None:
    try_reads(policy, data, seed)


def try_reads(policy: str, data: st.DataObject, seed: int) -> None:
    """Let any reads pass through a cache while any batches change the graph, and look at it after each."""
    stream: MutationStream = data.draw(mutation_streams(weights="int32"))
    graph = grapin.Graph.from_edges(**stream.start)
    random = np.random.default_rng(seed)
    settings = data.draw(cache_settings("none" if policy == "oracle" else policy))
    arrays = data.draw(st.sampled_from([1, 2]))
    cache = HostCache(settings, arrays=arrays, weight_dtype=np.int32)
    future: list[Coming] = []
    if policy == "oracle":
        cache.hot.policy = Oracle(future.pop() for _ in iter(int, 1))
    applied = None
    for batch in (None, *stream.batches):
        if batch is not None:
            applied = graph.apply(batch)
        snapshot = graph.snapshot()
        phases = [any_reads(snapshot, arrays, random) for _ in range(2)] if snapshot.bound else []
        rows = np.concatenate([np.empty((0, 5), np.int64), *phases])
        if snapshot.in_ is snapshot.out:
            rows[:, 1] &= ~1
        future.append(coming_of(rows[whole_reads(rows, snapshot)]))
        cache.begin(snapshot, applied)
        check_space(cache)
        check_copies(cache, snapshot)
        for phase in phases:
            held, counters = cache.read(phase, snapshot)
            check_space(cache)
            check_copies(cache, snapshot)
            assert (held <= phase[:, 4]).all()
            assert counters.edges == phase[:, 3].sum()
            assert counters.cached_edges == phase[held >= phase[:, 4], 3].sum()


def move_one_by_one(copies: HostCopies, plan: Plan) -> None:
    """Move lists as little at a time as a plan allows."""
    last = len(plan.moved) - plan.outgrown
    for array in (copies.neighbours, copies.weights)[: copies._hot.holdings.arrays]:
        parts = [
            array[at : at + length].copy() for at, length in zip(plan.sources, plan.lengths, strict=True)
        ]
        for entry in range(len(plan.moved)):
            at, length = plan.sources[entry], plan.lengths[entry]
            part = array[at : at + length].copy() if entry < last else parts[entry]
            array[plan.targets[entry] : plan.targets[entry] + length] = part


@pytest.mark.parametrize("policy", ["published", "adaptive"])
@given(data=st.data(), seed=st.integers(0, 1 << 30))
def test_lists_may_be_moved_one_after_the_other_in_the_order_of_the_plan(
    policy: str, data: st.DataObject, seed: int
) -> None:
    with patch.object(HostCopies, "_move", move_one_by_one):
        try_reads(policy, data, seed)


def between_walks(rows: np.ndarray, whole: np.ndarray) -> list[int]:
    """Return the rows where another iteration, direction or kind of read begins."""
    kinds = np.column_stack((rows[:, 0], rows[:, 1] & 1, whole))
    cuts: list[int] = (np.flatnonzero((kinds[1:] != kinds[:-1]).any(axis=1)) + 1).tolist()
    return cuts


@pytest.mark.parametrize("policy", ["published", "adaptive"])
@given(data=st.data(), seed=st.integers(0, 1 << 30))
def test_what_is_decided_does_not_depend_on_how_many_walks_come_at_a_time(
    policy: str, data: st.DataObject, seed: int
) -> None:
    stream: MutationStream = data.draw(mutation_streams(weights="int32"))
    graph = grapin.Graph.from_edges(**stream.start)
    random = np.random.default_rng(seed)
    settings = data.draw(cache_settings(policy))
    at_once, in_pieces = (HotCache(settings, arrays=2) for _ in range(2))
    with patch.object(policies, "FEWEST", data.draw(st.sampled_from([1, 8, 64]))):
        for batch in (None, *stream.batches):
            changed: Any = (np.empty(0, np.int64),) * 4
            applied = None if batch is None else graph.apply(batch)
            snapshot = graph.snapshot()
            if applied is not None:
                _, vertices, inward, *rest = changed_lists(snapshot, applied)
                changed = (2 * vertices.astype(np.int64) + inward, *rest)
            at_once.begin(*changed)
            in_pieces.begin(*changed)
            rows = any_reads(snapshot, 2, random) if snapshot.bound else np.empty((0, 5), np.int64)
            whole = whole_reads(rows, snapshot)
            expected = at_once.observe(rows, whole)
            phase = in_pieces.phase()
            cuts = [cut for cut in between_walks(rows, whole) if random.integers(2)]
            for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
                phase.read(rows[begin:end], whole[begin:end])
            found = phase.end()
            assert found.held.tolist() == expected.held.tolist()
            assert found.counters == expected.counters
            slots = [cache.holdings.chunks.held() for cache in (in_pieces, at_once)]
            assert slots[0].tolist() == slots[1].tolist()
            assert in_pieces.positions[slots[0]].tolist() == at_once.positions[slots[1]].tolist()
            for name in ("patched", "patched_at", "patched_length", "missed_from"):
                one, other = (
                    [entry for step in observed.steps for entry in getattr(step, name).tolist()]
                    for observed in (found, expected)
                )
                assert one == other


@given(data=st.data(), seed=st.integers(0, 1 << 30))
def test_a_device_that_opens_an_iteration_knows_what_reads_that_may_stop_early_will_find(
    data: st.DataObject, seed: int
) -> None:
    graph = grapin.Graph.from_edges(**data.draw(mutation_streams(weights="int32")).start)
    random = np.random.default_rng(seed)
    settings = data.draw(cache_settings("adaptive"))
    at_once, opened = (HotCache(settings, arrays=2) for _ in range(2))
    snapshot = graph.snapshot()
    nothing = np.empty(0, np.int64)
    with patch.object(policies, "FEWEST", 1), patch.object(policies, "ASKED", 0):
        for _ in range(3 if snapshot.bound else 0):
            at_once.begin(nothing, nothing, nothing, nothing)
            opened.begin(nothing, nothing, nothing, nothing)
            rows = any_reads(snapshot, 2, random)
            # Every other iteration may stop early, whether it does or not.
            whole = whole_reads(rows, snapshot) & (rows[:, 0] % 2 == 0)
            expected = at_once.observe(rows, whole)
            phase = opened.phase()
            for iteration in np.unique(rows[:, 0]).tolist():
                here = rows[:, 0] == iteration
                if iteration % 2:
                    phase.open(iteration)
                    opened.holdings.reach(rows[here, 1])
                    found = np.minimum(opened.holdings.copied[rows[here, 1]], rows[here, 4])
                    assert phase.read(rows[here], whole[here])[0].tolist() == found.tolist()
                else:
                    phase.read(rows[here], whole[here])
            assert phase.end().held.tolist() == expected.held.tolist()


def test_a_read_that_stops_early_leaves_no_copy_and_uses_one_that_is_there() -> None:
    graph = grapin.Graph.from_edges([0] * 40, range(1, 41))
    cache = HostCache(CacheSettings("adaptive", 4000), arrays=1, weight_dtype=None)
    snapshot = graph.snapshot()
    cache.begin(snapshot, None)
    start = int(snapshot.out.starts[0])
    part, all_of_it = [1, 0, start, 3, 1], [2, 0, start, 40, 1]
    rows = np.array([part, part, all_of_it, part, all_of_it], np.int64)
    held, counters = cache.read(rows, snapshot)
    assert held.tolist() == [0, 0, 0, 1, 1]
    assert (counters.cached_edges, counters.requests_32, counters.requests_128) == (43, 3, 1)
    applied = graph.apply(grapin.Batch(insert=[(0, 0)]))
    snapshot = graph.snapshot()
    cache.begin(snapshot, applied)
    rows = np.array([part, [2, 0, int(snapshot.out.starts[0]), 41, 1], part], np.int64)
    assert cache.read(rows, snapshot)[0].tolist() == [0, 1, 1]
    assert check_copies(cache, snapshot) == 1


def test_a_copy_that_missed_two_batches_is_patched_with_both() -> None:
    graph = grapin.Graph.from_edges([0] * 40, range(1, 41), weight=range(40), weights="int32")
    cache = HostCache(CacheSettings("adaptive", 4000), arrays=2, weight_dtype=np.int32)
    cache.begin(graph.snapshot(), None)
    snapshot = graph.snapshot()
    whole = np.array([[0, 0, snapshot.out.starts[0], 40, 2]], np.int64)
    assert cache.read(whole, snapshot)[0].tolist() == [0]
    for batch in (
        grapin.Batch(delete=[(0, 1), (0, 40)]),
        grapin.Batch(insert=[(0, 1, 7)], reweight=[(0, 2, 9)]),
    ):
        applied = graph.apply(batch)
        cache.begin(graph.snapshot(), applied)
    snapshot = graph.snapshot()
    whole = np.array([[0, 0, snapshot.out.starts[0], 39, 2]], np.int64)
    held, counters = cache.read(whole, snapshot)
    assert held.tolist() == [2]
    assert (counters.patch_bytes, counters.bytes) == (64, 0)
    assert check_copies(cache, snapshot) == 1
