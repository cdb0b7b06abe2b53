"""The other systems' formulas, against their papers' sentences written out as loops."""

from math import ceil

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grapin.errors import InvalidArgument
from grapin.partitions import (
    Activity,
    Choice,
    choose_as_released,
    choose_by_cost,
    choose_filter,
    count_activity,
    equations,
    volume,
)
from grapin.sim import copy_to_device, copy_to_host, find_machine
from grapin.sim.transfer.compaction import make_subgraph
from grapin.system import HybridReleased

Numbers = NDArray[np.int64]

# A list as (gap before it, length), an edge array as many of them.
layouts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 400)), max_size=60)
partitions = st.sampled_from((256, 1024, 4096, 1 << 25))
arrays = st.sampled_from((1, 2))


def laid_out(layout: list[tuple[int, int]]) -> tuple[Numbers, Numbers, int]:
    """Return starts, lengths and the size of the array."""
    table = np.array(layout, np.int64).reshape(-1, 2)
    ends = table.sum(axis=1).cumsum()
    return ends - table[:, 1], table[:, 1], int(ends[-1]) + 7 if len(ends) else 7


def activity_of(layout: list[tuple[int, int]], count: int, partition: int) -> Activity:
    starts, lengths, slots = laid_out(layout)
    return count_activity(starts, lengths, slots=slots, arrays=count, partition=partition)


def filled(*partitions: tuple[int, int, int, int]) -> Activity:
    """Return partitions of these sums: edges, active edges, active lists, lines."""
    edges, active_edges, active_lists, lines = np.array(partitions, np.int64).reshape(-1, 4).T
    return Activity(edges, active_edges, active_lists, lines, np.zeros(0, np.int64), edge_bytes=4)


@st.composite
def activities(draw: st.DrawFn) -> Activity:
    """Draw partitions as large as real ones, about as often mostly, half and hardly active."""
    share = st.one_of(st.floats(0.0, 0.1), st.floats(0.35, 0.85), st.floats(0.75, 1.0))
    rows = []
    for _ in range(draw(st.integers(1, 20))):
        edges = draw(st.integers(1, 8 << 20))
        active = int(edges * draw(share))
        lists = -(-active // draw(st.integers(1, 40)))
        rows.append((edges, active, lists, lists + active // 32))
    return filled(*rows)


@given(layouts, arrays, partitions)
def test_every_list_is_counted_in_the_partition_it_starts_in(
    layout: list[tuple[int, int]], count: int, partition: int
) -> None:
    starts, lengths, slots = laid_out(layout)
    activity = activity_of(layout, count, partition)
    size = partition // (4 * count)
    for index in range(len(activity.edges)):
        own = [
            (start, length)
            for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
            if start // size == index
        ]
        lines = sum(len({at // 32 for at in range(start, start + length)}) for start, length in own)
        assert activity.active_edges[index] == sum(length for _, length in own)
        assert activity.active_lists[index] == sum(length > 0 for _, length in own)
        assert activity.lines[index] == count * lines
        held = min(size, slots - size * index)
        assert activity.edges[index] == max(held, activity.active_edges[index])
    assert activity.active_edges.sum() == lengths.sum()


@given(layouts, arrays, partitions)
def test_the_equations_are_those_of_the_paper(
    layout: list[tuple[int, int]], count: int, partition: int
) -> None:
    activity = activity_of(layout, count, partition)
    costs = equations(activity, round_trip=2.0, index_bytes=8, gathering_rate=1e6)
    for index in range(len(activity.edges)):
        edges, active = int(activity.edges[index]), int(activity.active_edges[index])
        d1, d2, m, mr, rtt = 4 * count, 8, 128, 256, 2.0
        moved = active * d1 + int(activity.active_lists[index]) * d2
        shorter = 0.625 * rtt + (1 - 0.625) * active / edges * rtt
        assert costs.filter[index] == ceil(edges * d1 / m / mr) * rtt
        assert costs.compaction[index] == pytest.approx(ceil(moved / m / mr) * rtt + moved / 1e6)
        assert costs.zero_copy[index] == pytest.approx(ceil(int(activity.lines[index]) / mr) * shorter)


@given(activities())
def test_the_published_rule_compares_costs(activity: Activity) -> None:
    costs = equations(activity)
    for index, choice in enumerate(choose_by_cost(activity)):
        whole, gather, ask = costs.filter[index], costs.compaction[index], costs.zero_copy[index]
        if not activity.active_lists[index]:
            assert choice == Choice.NOTHING
        elif gather < 0.8 * whole and gather < 0.4 * ask:
            assert choice == Choice.COMPACTION
        else:
            assert choice == (Choice.ZERO_COPY if ask < whole else Choice.FILTER)


@given(activities(), st.integers(1, 40))
def test_the_released_rule_goes_by_shares_and_a_quota(activity: Activity, segments: int) -> None:
    gathered = 0
    for index, choice in enumerate(choose_as_released(activity, HybridReleased(segments=segments))):
        edges, active = int(activity.edges[index]), int(activity.active_edges[index])
        lists = int(activity.active_lists[index])
        if not lists:
            expected = Choice.NOTHING
        elif active > 0.8 * edges:
            expected = Choice.FILTER
        elif active > 0.4 * edges and active // lists < 24 and gathered < segments // 4:
            expected = Choice.COMPACTION
            gathered += 1
        else:
            expected = Choice.ZERO_COPY
        assert choice == expected


@pytest.mark.parametrize(
    ("activity", "published", "released"),
    [
        # Nearly all is active, in long lists: copying whole costs one eighth less than asking for every line.
        (filled((8 << 20, 8 << 20, 1 << 10, 1 << 18)), Choice.FILTER, Choice.FILTER),
        # Half is active, in short lists, each a request of its own: gathering costs a fifth of asking.
        (filled((8 << 20, 4 << 20, 1 << 19, 1 << 20)), Choice.COMPACTION, Choice.COMPACTION),
        # Next to nothing is active.
        (filled((8 << 20, 1 << 10, 1 << 4, 1 << 6)), Choice.ZERO_COPY, Choice.ZERO_COPY),
        # A tenth is active, in lists of one edge: the paper gathers, its code asks for line by line.
        (filled((8 << 20, 800_000, 800_000, 800_000)), Choice.COMPACTION, Choice.ZERO_COPY),
    ],
)
def test_the_two_rules_agree_on_clear_cases_and_not_on_others(
    activity: Activity, published: Choice, released: Choice
) -> None:
    assert choose_by_cost(activity).tolist() == [published]
    assert choose_as_released(activity).tolist() == [released]


@given(layouts, arrays, partitions, st.data())
def test_choices_say_how_every_list_moves(
    layout: list[tuple[int, int]], count: int, partition: int, data: st.DataObject
) -> None:
    activity = activity_of(layout, count, partition)
    number = len(activity.edges)
    ways = data.draw(st.lists(st.sampled_from(Choice), min_size=number, max_size=number))
    moved = volume(activity, np.array(ways, np.int64), index_bytes=12)
    for index, way in enumerate(ways):
        whole = int(activity.edges[index]) * 4 * count
        lists = int(activity.active_edges[index]) * 4 * count + int(activity.active_lists[index]) * 12
        assert moved.copied[index] == {Choice.FILTER: whole, Choice.COMPACTION: lists}.get(way, 0)
        assert moved.gathered[index] == (lists if way == Choice.COMPACTION else 0)
    assert moved.requested.tolist() == [ways[index] == Choice.ZERO_COPY for index in activity.partition]


@given(layouts, arrays, partitions)
def test_filtering_copies_what_has_an_active_list(
    layout: list[tuple[int, int]], count: int, partition: int
) -> None:
    activity = activity_of(layout, count, partition)
    moved = volume(activity, choose_filter(activity))
    assert moved.copied.sum() == (activity.edges * 4 * count)[activity.active].sum()
    assert not moved.requested.any()


@pytest.mark.parametrize(
    ("lengths", "edges", "vertices", "problem"),
    [([5], 4, 9, "edges=4"), ([5, 5], 10, 1, "vertices=1")],
)
def test_more_cannot_be_active_than_there_is(
    lengths: list[int], edges: int, vertices: int, problem: str
) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        make_subgraph(np.array(lengths), edges=edges, vertices=vertices)
    with pytest.raises(InvalidArgument, match="slots=4 must be at least 8, where the last list ends"):
        count_activity(np.array([0, 3]), np.array([3, 5]), slots=4)


@example([80], 20, 0, 1)
@given(st.lists(st.integers(0, 1000), max_size=50), st.integers(0, 10**6), st.integers(0, 10**6), arrays)
def test_subway_moves_active_edges_and_two_words_a_vertex_down_and_two_up(
    lengths: list[int], more_edges: int, more_vertices: int, count: int
) -> None:
    edges, vertices = sum(lengths) + more_edges, len(lengths) + more_vertices
    moved = make_subgraph(np.array(lengths, np.int64), edges=edges, vertices=vertices, arrays=count)
    active = sum(length > 0 for length in lengths)
    if sum(lengths) > 0.8 * edges:
        assert (moved.gathered, moved.to_device, moved.to_host) == (False, 4 * count * edges, 0)
    else:
        assert moved.to_device == 4 * count * sum(lengths) + 4 * 2 * active
        assert moved.to_host == 4 * 2 * active
        if count == 1:
            saved = 4 * edges - moved.to_device - moved.to_host
            assert saved == 4 * (edges - sum(lengths) - 4 * active)


def test_subways_time_is_the_sum_of_its_steps() -> None:
    machine = find_machine("titan-xp")
    moved = make_subgraph(np.full(10**6, 20), edges=10**9, vertices=10**8)
    steps = {
        "find": 8 * 4 * 10**8 / machine.gpu.bandwidth,
        "say which": copy_to_host(machine, 2 * 4 * 10**6).seconds,
        "gather": 2 * 4 * 20 * 10**6 / machine.host.bandwidth,
        "copy": copy_to_device(machine, 4 * (20 + 2) * 10**6).seconds,
    }
    assert moved.seconds(machine) == pytest.approx(sum(steps.values()))
    nothing = make_subgraph(np.zeros(0, np.int64), edges=10**9, vertices=10**8)
    assert nothing.seconds(machine) == pytest.approx(steps["find"])
