"""How threads walk lists decides what a GPU asks for; each pattern is held against a walk step by step."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.counters import REQUEST_SIZES, count_reads
from grapin.sim import stations
from grapin.sim.stations import count_thread_reads

LISTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200), st.integers(0, 90)), max_size=24)
ELEMENTS = st.sampled_from([4, 8])


def columns(lists: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(sorted(lists), np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def walk_with_threads(lists: list[tuple[int, int, int]], element: int, *, kept: bool) -> Counter[int]:
    """Let all threads of a warp read one element each, step by step, remembering one sector each."""
    requests: Counter[int] = Counter()
    held: dict[int, int] = {}
    for step in range(max((length for _, _, length in lists), default=0)):
        asked: dict[tuple[int, int], set[int]] = defaultdict(set)
        for thread, (warp, start, length) in enumerate(lists):
            sector = (start + step) * element // 32
            if step < length and not (kept and held.get(thread) == sector):
                asked[warp, sector // 4].add(sector)
                held[thread] = sector
        requests.update(32 * len(sectors) for sectors in asked.values())
    return requests


def walk_with_warps(
    lists: list[tuple[int, int, int]], element: int, *, aligned: bool, base: int = 0
) -> Counter[int]:
    """Let each warp read 32 elements a step, from the list's start or from the 32 elements it lies in."""
    requests: Counter[int] = Counter()
    for _, start, length in lists:
        begin = start // 32 * 32 if aligned else start
        for first in range(begin, start + length, 32):
            read = range(max(first, start), min(first + 32, start + length))
            sectors = {(base + place * element) // 32 for place in read}
            lines = {sector // 4 for sector in sectors}
            requests.update(32 * sum(sector // 4 == line for sector in sectors) for line in lines)
    return requests


@given(LISTS, ELEMENTS, st.booleans())
def test_threads_that_walk_lists_ask_for_what_a_walk_step_by_step_asks_for(
    lists: list[tuple[int, int, int]], element: int, kept: bool
) -> None:
    counted = count_thread_reads(*columns(lists), element=element, kept=kept)
    expected = walk_with_threads(sorted(lists), element, kept=kept)
    assert counted.requests == {size: expected[size] for size in REQUEST_SIZES}
    assert (counted.edges, counted.lists) == (sum(row[2] for row in lists), sum(row[2] > 0 for row in lists))


@given(LISTS, ELEMENTS, st.booleans(), st.sampled_from([0, 16, 128, 8]))
def test_warps_that_walk_lists_ask_for_what_a_walk_step_by_step_asks_for(
    lists: list[tuple[int, int, int]], element: int, aligned: bool, base: int
) -> None:
    _, starts, lengths = columns(lists)
    counted = count_reads(starts, lengths, element=element, aligned=aligned, base=base)
    expected = walk_with_warps(lists, element, aligned=aligned, base=base)
    assert counted.requests == {size: expected[size] for size in REQUEST_SIZES}


@given(LISTS, ELEMENTS)
def test_cutting_the_work_into_blocks_changes_nothing(
    lists: list[tuple[int, int, int]], element: int
) -> None:
    whole = count_thread_reads(*columns(lists), element=element)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stations, "_BLOCK", 50)
        assert count_thread_reads(*columns(lists), element=element) == whole
