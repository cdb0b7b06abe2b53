"""Correction on the device, where its marks decide: who waits, who is read again, who owes an offer to the lost."""

import pytest

from grapin import Batch, Graph
from grapin.counters import Work
from grapin.engine.answer import Answer
from grapin.engine.verify import verify_answer
from grapin.errors import ValueOverflow
from grapin.programs import SSSP
from grapin.system import SYSTEMS

pytest.importorskip("numba.cuda", reason="the cudasim extra is not installed")

from grapin.kernels.cuda.monotone.query import MonotoneQuery
from grapin.kernels.cuda.simulator import Simulator

LARGE = 2**31 - 1
"""The largest weight; a path of two edges that long still fits into 32 bits, and one of three does not."""


def after(edges: list[tuple[int, int, int]], batch: Batch) -> tuple[list[int], Work]:
    """Return the shortest paths from 0 after a batch, verified, and what the repair did."""
    source, target, weight = zip(*edges, strict=True)
    graph = Graph.from_edges(source, target, weight, weights="int32")
    query = MonotoneQuery(
        Simulator(warp=4), SSSP(0), SYSTEMS["bounded"], weight_dtype=graph.weight_dtype, directed=True
    )
    query.start(graph.snapshot(), tracing=False)
    applied = graph.apply(batch)
    work = query.repair(graph.snapshot(), applied, tracing=False)
    verify_answer(Answer(SSSP(0), query), graph)
    return query.values().tolist(), work


def test_a_lost_vertex_offers_its_new_value_to_one_that_was_lost_with_it() -> None:
    # 1, 2 and 3 are lost together. 3 gets its new value from 4, 2 from 3 when its list is read again, and at that time
    # 1 reads its own again, and finds nothing at 2 yet.
    edges = [(0, 1, 1), (0, 2, 2), (0, 3, 3), (0, 4, 1), (4, 3, 20), (3, 2, 5), (2, 1, 5)]
    values, work = after(edges, Batch(delete=[(0, 1), (0, 2), (0, 3)]))
    assert values == [0, 31, 26, 21, 1]
    assert work.invalidated == 3
    assert not work.dense


def test_a_lost_vertex_offers_its_new_value_to_one_that_was_pending_when_it_was_lost() -> None:
    # 2 hangs on 1 and is looked at when 1 is lost already; 1 gets a new value, and 2 has no other.
    edges = [(0, 1, 1), (1, 2, 1), (0, 3, 9), (3, 1, 1)]
    values, work = after(edges, Batch(delete=[(0, 1)]))
    assert values == [0, 10, 11, 9]
    assert work.invalidated == 2


def test_a_vertex_waits_for_a_neighbour_that_is_not_decided_yet() -> None:
    # Both 1 and 2 lose their parent. 1 stays, for 3 offers the same; 2 would be lost if it did not wait for 1.
    edges = [(0, 1, 1), (0, 2, 2), (0, 3, 1), (3, 1, 0), (1, 2, 1)]
    values, work = after(edges, Batch(delete=[(0, 1), (0, 2)]))
    assert values == [0, 1, 2, 1]
    assert work.invalidated == 0


def test_a_value_beyond_32_bits_that_a_deletion_leaves_is_an_error() -> None:
    edges = [(0, 1, LARGE), (1, 2, LARGE), (2, 3, 5), (0, 3, 1)]
    with pytest.raises(ValueOverflow, match="a value of sssp does not fit into 32 bits"):
        after(edges, Batch(delete=[(0, 3)]))


def test_an_offer_beyond_32_bits_is_no_error_when_its_maker_is_lost_too() -> None:
    edges = [(0, 1, LARGE), (1, 2, LARGE), (2, 3, 5), (0, 3, 1), (0, 4, 1)]
    values, work = after(edges, Batch(delete=[(0, 3), (0, 1)]))
    assert values[4] == 1
    assert work.invalidated == 3
