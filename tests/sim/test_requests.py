"""The lists of a trace become the requests that a warp walking them would make, whatever they are cut into."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_traces import List, few_lists, lists_of, trace_of, traces

from grapin.errors import InvalidArgument
from grapin.sim.requests import BARRIER, first_sector, request_bytes, requests
from grapin.trace import Trace


def codes_of(trace: Trace, **options: object) -> list[int]:
    return [code for block in requests(trace, **options) for code in block.codes.tolist()]  # type: ignore[arg-type]


def walk(lists: list[List], *, aligned: bool) -> list[tuple[int, int]]:
    """Walk lists element by element; return the first sector in its line and the size of each request, in order."""
    made = []
    for start, length, arrays in lists:
        elements = range(start, start + length)
        steps: dict[int, list[int]] = {}
        for element in elements:
            steps.setdefault(element // 32 if aligned else (element - start) // 32, []).append(element)
        for step in steps.values():
            lines: dict[int, set[int]] = {}
            for element in step:
                lines.setdefault(element // 32, set()).add(element // 8 % 4)
            made += [(min(sectors), 32 * len(sectors)) for sectors in lines.values()] * arrays
    return made


@given(few_lists, st.booleans())
def test_a_list_asks_for_the_sectors_that_its_elements_lie_in(lists: list[List], aligned: bool) -> None:
    codes = codes_of(trace_of([lists]), aligned=aligned)
    made = [(first_sector(code), request_bytes(code)) for code in codes if code != BARRIER]
    assert made == walk(lists, aligned=aligned)


@given(traces, st.booleans())
def test_requests_by_size_are_those_that_the_trace_counts(trace: Trace, aligned: bool) -> None:
    counted = Counter(request_bytes(code) for code in codes_of(trace, aligned=aligned) if code != BARRIER)
    assert counted == Counter({size: n for size, n in trace.counters(aligned=aligned).requests.items() if n})


@given(traces, st.booleans(), st.integers(5, 40))
def test_the_stream_is_the_same_whatever_it_is_cut_into(trace: Trace, aligned: bool, capacity: int) -> None:
    blocks = requests(trace, aligned=aligned, capacity=capacity)
    cut = [(block.codes.tolist(), block.last_rows.tolist()) for block in blocks]
    assert all(0 < len(codes) <= capacity for codes, _ in cut)
    assert [code for codes, _ in cut for code in codes] == codes_of(trace, aligned=aligned)
    assert [rows for _, found in cut for rows in found] == last_rows(trace)
    assert all(codes.count(BARRIER) == len(rows) for codes, rows in cut)


def last_rows(trace: Trace) -> list[int]:
    iterations = trace.reads["iteration"].tolist()
    return [row for row, one in enumerate(iterations) if [one] != iterations[row + 1 : row + 2]]


def test_an_iteration_that_reads_only_empty_lists_still_ends_and_no_lists_at_all_are_nothing() -> None:
    empty = trace_of([[(0, 0, 1), (64, 0, 2)], [(0, 1, 1)], [(7, 0, 1)]])
    assert codes_of(empty) == [BARRIER, 0, BARRIER, BARRIER]
    assert codes_of(trace_of([])) == []


@given(few_lists, st.data())
def test_lists_that_the_device_holds_ask_for_nothing(lists: list[List], data: st.DataObject) -> None:
    held = data.draw(st.lists(st.booleans(), min_size=len(lists), max_size=len(lists)))
    others = [one if not here else (one[0], 0, one[2]) for one, here in zip(lists, held, strict=True)]
    assert codes_of(trace_of([lists]), held=np.array(held, np.bool_)) == codes_of(trace_of([others]))


def test_a_mask_of_another_length_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="held has 2 rows and must have one for each of the 3 reads"):
        codes_of(trace_of([lists_of(1, 3, 9, 1)]), held=np.zeros(2, np.bool_))
