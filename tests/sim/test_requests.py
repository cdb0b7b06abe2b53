"""The lists of a trace become the requests that warps walking them would make, step by step."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sample_traces import List, few_lists, trace_of, traces

from grapin.sim.oracle.zero_copy import readings, steps
from grapin.sim.path import first_sector, request_bytes
from grapin.sim.transfer.zero_copy import ALONE, ANY_LENGTH
from grapin.trace import Trace

NOTHING_HELD = np.zeros(0, np.bool_)


def steps_of(lists: list[List], *, aligned: bool = True, alone: int = ANY_LENGTH) -> list[list[list[int]]]:
    """Return the codes of each step of each piece."""
    trace = trace_of([lists])
    return [
        list(steps(piece, aligned=aligned))
        for reading in readings(trace, NOTHING_HELD, aligned=aligned, alone=alone)
        for piece in reading.pieces
    ]


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
    codes = [code for piece in steps_of(lists, aligned=aligned) for step in piece for code in step]
    assert [(first_sector(code), request_bytes(code)) for code in codes] == walk(lists, aligned=aligned)


@given(few_lists, st.booleans(), st.integers(0, 100))
def test_a_list_is_one_warps_up_to_a_length_and_beyond_it_each_step_is_anyones(
    lists: list[List], aligned: bool, alone: int
) -> None:
    pieces = steps_of(lists, aligned=aligned, alone=alone)
    whole = steps_of(lists, aligned=aligned)
    lengths = [length for _, length, arrays in lists if length and arrays]
    expected = []
    for length, piece in zip(lengths, whole, strict=True):
        expected += [piece] if length <= alone else [[step] for step in piece]
    assert pieces == expected


@given(traces)
def test_iterations_end_where_phase_or_number_change_whatever_they_read(trace: Trace) -> None:
    numbers = trace.reads["iteration"].tolist()
    ends = [row for row, one in enumerate(numbers) if [one] != numbers[row + 1 : row + 2]]
    found = [reading.last_row for reading in readings(trace, NOTHING_HELD, aligned=True, alone=ALONE)]
    assert found == ends


def test_the_same_number_in_another_phase_is_another_iteration() -> None:
    trace = trace_of([[(0, 1, 1)] * 4])
    trace.reads["phase"][:] = [0, 0, 1, 1]
    assert [one.last_row for one in readings(trace, NOTHING_HELD, aligned=True, alone=ALONE)] == [1, 3]
